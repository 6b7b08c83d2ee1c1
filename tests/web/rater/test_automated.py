"""Robots and link previews by their user agent: phones and apps with people at them are none."""

from __future__ import annotations

from heartfelt.web.rater.automated import is_robot
from tests.cases import check_all

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"
CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0"
PEOPLE = [
    f"Mozilla/5.0 (Linux; Android 10; CUBOT X30) {CHROME} Mobile Safari/537.36",
    f"Mozilla/5.0 (Linux; Android 9; CUBOT_P40 Build/PPR1.180610.011) {CHROME} Mobile Safari/537.36",
    f"Mozilla/5.0 (Linux; U; Android 8.1.0; en-us; CUBOT Build/OPM2) {CHROME} Mobile Safari/537.36",
    f"Mozilla/5.0 (X11; Linux x86_64) {CHROME} Safari/537.36",
    f"Mozilla/5.0 (X11; Linux x86_64) {CHROME.replace('Chrome', 'HeadlessChrome')} Safari/537.36",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36 Edg/126.0.0.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
    f"{IPHONE} [FBAN/FBIOS;FBAV/468.0]",
    f"{IPHONE} [Pinterest/iOS]",
    f"Mozilla/5.0 (Linux; Android 13; SM-A536B; wv) {CHROME} Mobile Safari/537.36 WhatsApp/2.24.13",
    f"{IPHONE} Instagram 335.0",
    f"Mozilla/5.0 (Linux; Android 12; Spiderman Edition) {CHROME} Mobile Safari/537.36",
    "",
]
ROBOTS = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    f"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) {CHROME} Mobile Safari/537.36 (compatible; Googlebot/2.1)",
    "AdsBot-Google (+http://www.google.com/adsbot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0)",
    "Mozilla/5.0 (compatible; YandexBot/3.0)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2)",
    "Mozilla/5.0 (compatible; Baiduspider/2.0)",
    "WhatsApp/2.23.20.0 A",
    "facebookexternalhit/1.1",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Slackbot 1.0",
    "Slack-ImgProxy",
    "Twitterbot/1.0",
    "TelegramBot (like TwitterBot)",
    "Mozilla/5.0 (compatible; Discordbot/2.0)",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient)",
    "Pinterest/0.2",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5",
    f"Mozilla/5.0 (X11; Linux x86_64) {CHROME} Safari/537.36 BingPreview/1.0b",
    f"Mozilla/5.0 (Linux; Android 11) {CHROME} Mobile Safari/537.36 Chrome-Lighthouse",
]


@check_all("agent", PEOPLE)
def test_people_are_no_robots(agent: str) -> None:
    assert not is_robot(agent)


@check_all("agent", ROBOTS)
def test_robots_are(agent: str) -> None:
    assert is_robot(agent)

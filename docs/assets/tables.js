// Tables and formulas wider than the page scroll; a keyboard can reach what scrolls, and a screen reader has a name for it.
window.addEventListener("load", () => {
  const name = (box, words) => {
    const reach = () => {
      const wide = box.scrollWidth > box.clientWidth
      if (wide) {
        box.tabIndex = 0
        box.setAttribute("role", "region")
        box.setAttribute("aria-label", words)
      } else {
        box.removeAttribute("tabindex")
        box.removeAttribute("role")
        box.removeAttribute("aria-label")
      }
    }
    new ResizeObserver(reach).observe(box)
  }
  document.querySelectorAll(".md-typeset__scrollwrap").forEach(box => {
    const heading = box.querySelector("th")
    name(box, `Table ${heading ? heading.textContent.trim() : ""} (scrolls)`)
  })
  document.querySelectorAll(".formula").forEach(box => name(box, "Formula (scrolls)"))
  document.querySelectorAll(".md-typeset pre > code").forEach(code => name(code, "Code (scrolls)"))
})

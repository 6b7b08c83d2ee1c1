// A worker for pages opened from a file, where browsers start none: the script runs in a hidden frame of the same page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "Search"
      const start = () => {
        document.body.append(this.frame)
        const inside = this.frame.contentWindow
        inside.postMessage = data => {
          const event = new MessageEvent("message", { data })
          this.dispatchEvent(event)
          if (this.onmessage) this.onmessage(event)
        }
        inside.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve())
        this.load(url).then(() => {
          this.ready = true
          this.waiting.splice(0).forEach(data => this.deliver(data))
        })
      }
      if (document.body) start()
      else document.addEventListener("DOMContentLoaded", start)
    }

    load(url) {
      const inside = this.frame.contentDocument
      return new Promise((resolve, reject) => {
        const script = inside.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        inside.head.append(script)
      })
    }

    deliver(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
    }

    postMessage(data) {
      if (this.ready) this.deliver(data)
      else this.waiting.push(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
}

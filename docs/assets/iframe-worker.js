// Search in the offline folder. A browser refuses to start a worker from file://, so the script of the worker runs in a
// hidden frame here, and messages go to and fro. Only pages that were opened from the disk use it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const base = new URL(url, location.href);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><html><body></body></html>");
      inside.document.close();
      inside.postMessage = (data) =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      inside.importScripts = (...scripts) => scripts.reduce((before, src) => before.then(() => load(src)), Promise.resolve());
      const load = (src) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          Object.assign(script, { src: new URL(src, base), onload: done, onerror: failed });
          inside.document.body.appendChild(script);
        });
      load(base).then(() => {
        this.deliver = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        this.waiting.forEach(this.deliver);
      });
    }
    postMessage(data) {
      this.deliver ? this.deliver(data) : this.waiting.push(data);
    }
    terminate() {}
  };
}

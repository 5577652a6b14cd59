// Of a chosen checkpoint only the header leaves this machine: the file is cut off behind it before it is sent.
(function () {
  "use strict";

  const control = document.getElementById("f-model_file");
  if (!control || !window.DataTransfer) { return; }
  const most = Number(control.dataset.bytesMaximum);
  // A chosen file is sent at once: a button beside it would send a second time, and then nothing.
  const button = control.form.querySelector("[data-without-script]");
  const reading = control.form.querySelector("[data-reading]");
  if (button) { button.hidden = true; }

  // safetensors says in its first eight bytes how long its header is; other files are cut at the limit.
  async function headerBytes(file) {
    const start = new DataView(await file.slice(0, 9).arrayBuffer());
    if (start.byteLength === 9 && start.getUint32(4, true) === 0 && start.getUint8(8) === 0x7b) {
      return Math.min(most, 8 + start.getUint32(0, true));
    }
    return most;
  }

  control.form.addEventListener("submit", async function (event) {
    const file = control.files[0];
    if (!file) { return; }
    event.preventDefault();
    if (reading) { reading.hidden = false; }
    const size = await headerBytes(file);
    if (file.size > size) {
      const carrier = new DataTransfer();
      carrier.items.add(new File([file.slice(0, size)], file.name, { type: file.type }));
      control.files = carrier.files;
    }
    control.form.submit();
  });
  // Back from the next page, the field still shows the file: it can be chosen again.
  window.addEventListener("pageshow", function () {
    control.value = "";
    if (reading) { reading.hidden = true; }
  });
  control.addEventListener("change", function () {
    if (control.files.length) { control.form.requestSubmit(); }
  });
})();

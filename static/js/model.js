// Of a chosen checkpoint only the header leaves this machine: the file is cut off behind it before it is sent.
(function () {
  "use strict";

  const control = document.getElementById("f-model_file");
  if (!control || !window.DataTransfer) { return; }
  const most = Number(control.dataset.bytesMaximum);

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
    const size = await headerBytes(file);
    if (file.size > size) {
      const carrier = new DataTransfer();
      carrier.items.add(new File([file.slice(0, size)], file.name, { type: file.type }));
      control.files = carrier.files;
    }
    control.form.submit();
  });
  control.addEventListener("change", function () {
    if (control.files.length) { control.form.requestSubmit(); }
  });
})();

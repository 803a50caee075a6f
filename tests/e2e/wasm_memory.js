// Finds the memory of Python in a worker that runs already: `wasmBytes()` is its size. Whatever
// crosses between JavaScript and Python is a part of its bytes, so the next part leads there.
(() => {
  const LEAST = 2 ** 24; // Python has more; no other array of the page does
  let found = new ArrayBuffer(0);
  const { subarray } = Uint8Array.prototype;
  Uint8Array.prototype.subarray = function (...range) {
    if (this.buffer !== found && this.buffer.byteLength >= LEAST) found = this.buffer;
    return subarray.apply(this, range);
  };
  self.wasmBytes = () => found.byteLength;
})();

// Keeps hold of every WebAssembly memory that a worker makes: `wasmBytes()` is their size.
// Evaluated in the worker before Pyodide starts.
(() => {
  const memories = new Set();
  const keep = ({ exports }) => {
    for (const value of Object.values(exports)) {
      if (value instanceof WebAssembly.Memory) memories.add(value);
    }
  };
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const original = WebAssembly[name];
    WebAssembly[name] = async (...args) => {
      const result = await original.apply(WebAssembly, args);
      keep(result.instance ?? result);
      return result;
    };
  }
  self.wasmBytes = () => [...memories].reduce((all, memory) => all + memory.buffer.byteLength, 0);
})();

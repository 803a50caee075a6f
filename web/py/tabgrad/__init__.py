"""tabgrad: train, load and explain language models on WebGPU, in Python you can read."""

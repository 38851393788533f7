"""Parts of chakra_et.record. They import neither the extension nor, before a recording begins, PyTorch."""

"""The CUDA engine: CuPy and CUDA C++ on an NVIDIA GPU. Importable without either; `engine` needs both."""

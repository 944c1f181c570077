#!/usr/bin/env bash
# What traces/record_hf.py needs, in an environment of its own: numpy, torch, transformers, and
# gguf for its test. Several GB with PyPI's torch for Linux, which brings CUDA.
#   traces/install_record_hf.sh [FOLDER]    default: build/hf
#   build/hf/bin/python traces/record_hf.py --help
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build/hf}
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet 'numpy>=1.24' 'torch>=2.2' 'transformers>=4.56' 'gguf>=0.10'
"$folder/bin/python" -c 'import torch, transformers
print("torch", torch.__version__, "transformers", transformers.__version__)'

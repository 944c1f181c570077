#!/usr/bin/env python3
"""traces/record_hf.py against `leanstream record` on a tiny random Llama.

    tests/traces/record_hf_test.py PROGRAM

Saves a random Llama in transformers, writes the same weights as a GGUF file, records one text of
token ids with both and compares. Status 77 (ctest: skipped) with the reason where torch,
transformers or gguf are missing; build/hf (traces/install_record_hf.sh) is used when it is there.
"""

import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = os.environ.get("LEANSTREAM_HF_PYTHON", os.path.join(ROOT, "build/hf/bin/python"))
SKIPPED = 77
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, VOCAB = 3, 64, 96, 4, 2, 300
TOKENS = 48

try:
    import gguf
    import numpy as np
    import torch
    import transformers
except ImportError as error:
    if os.path.exists(ENVIRONMENT) and os.path.abspath(sys.executable) != ENVIRONMENT:
        os.execv(ENVIRONMENT, [ENVIRONMENT, *sys.argv])
    print(f"SKIPPED: {error}; traces/install_record_hf.sh installs what the test needs")
    sys.exit(SKIPPED)


def make_model(folder):
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, max_position_embeddings=64,
        rms_norm_eps=1e-5, tie_word_embeddings=False, initializer_range=0.2)
    model = transformers.LlamaForCausalLM(config).float()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.uniform_(0.5, 1.5)
    model.save_pretrained(folder)
    return model


def write_gguf(model, path):
    """Its weights as architecture llama: rotary pairs are neighbours, so rows of q and k move."""
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(LAYERS)
    file.add_context_length(64)
    file.add_embedding_length(HIDDEN)
    file.add_feed_forward_length(FFN)
    file.add_head_count(HEADS)
    file.add_head_count_kv(KV_HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_freq_base(10000.0)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list([f"t{i}" for i in range(VOCAB)])
    file.add_token_merges(["t 1"])
    state = {k: v.detach().numpy() for k, v in model.state_dict().items()}

    def pairs(weight, heads):
        rows, columns = weight.shape
        return (weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2)
                .reshape(rows, columns))

    tensors = {"token_embd.weight": state["model.embed_tokens.weight"],
               "output_norm.weight": state["model.norm.weight"],
               "output.weight": state["lm_head.weight"]}
    for l in range(LAYERS):
        of = f"model.layers.{l}."
        tensors |= {
            f"blk.{l}.attn_norm.weight": state[of + "input_layernorm.weight"],
            f"blk.{l}.ffn_norm.weight": state[of + "post_attention_layernorm.weight"],
            f"blk.{l}.attn_q.weight": pairs(state[of + "self_attn.q_proj.weight"], HEADS),
            f"blk.{l}.attn_k.weight": pairs(state[of + "self_attn.k_proj.weight"], KV_HEADS),
            f"blk.{l}.attn_v.weight": state[of + "self_attn.v_proj.weight"],
            f"blk.{l}.attn_output.weight": state[of + "self_attn.o_proj.weight"],
            f"blk.{l}.ffn_gate.weight": state[of + "mlp.gate_proj.weight"],
            f"blk.{l}.ffn_up.weight": state[of + "mlp.up_proj.weight"],
            f"blk.{l}.ffn_down.weight": state[of + "mlp.down_proj.weight"]}
    for name, tensor in tensors.items():
        file.add_tensor(name, np.ascontiguousarray(tensor, "<f4"))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def read(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + size])
    kinds = {"F32": "<f4", "I32": "<i4", "F16": "<f2", "U8": "u1"}
    info = head.pop("__metadata__")
    at = 8 + size
    return info, {name: np.frombuffer(data[at + t["data_offsets"][0]:at + t["data_offsets"][1]],
                                      kinds[t["dtype"]]).reshape(t["shape"])
                  for name, t in head.items()}


def compare(ours, theirs, what):
    """ours: of record_hf.py; theirs: of the program."""
    (info, a), (reference, b) = ours, theirs
    for key in ("model.layers", "model.hidden", "model.ffn", "kind"):
        assert info[key] == reference[key], (what, key, info[key], reference[key])
    assert float(info["upstream_density"]) == float(reference["upstream_density"]), what
    assert (a["tokens"] == b["tokens"]).all(), what
    assert a["importance"].shape == b["importance"].shape, what
    np.testing.assert_allclose(a["levels"], b["levels"], rtol=1e-3, err_msg=what)
    apart = np.abs(a["importance"].astype(int) - b["importance"].astype(int))
    assert apart.max() <= 1, f"{what}: codes differ by {apart.max()}"
    assert (apart > 0).mean() < 0.01, f"{what}: {(apart > 0).mean():.2%} of the codes differ"
    assert np.isnan(a["nll"][0]) and np.isnan(b["nll"][0]), what
    np.testing.assert_allclose(a["nll"][1:], b["nll"][1:], rtol=1e-3, atol=1e-4, err_msg=what)
    if "features" in b:
        np.testing.assert_allclose(a["features"].astype("f4"), b["features"].astype("f4"),
                                   rtol=2e-3, atol=4e-3, err_msg=what)
    print(f"{what}: {(apart > 0).sum()} of {apart.size} codes differ, none by more than a level; "
          f"nll by at most {np.nanmax(np.abs(a['nll'] - b['nll'])):.1e}")


def main(program):
    script = os.path.join(ROOT, "traces/record_hf.py")

    def call(*command, status=0):
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == status, (command, ended.stdout, ended.stderr)
        return ended.stderr

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_gguf(make_model("model"), "model.gguf")
        ids = torch.randint(0, VOCAB, (TOKENS,), generator=torch.manual_seed(2)).tolist()
        with open("ids.txt", "w", encoding="ascii") as file:
            file.write(" ".join(map(str, ids)))
        ours = (sys.executable, script, "--model", "model", "--token-ids", "ids.txt")
        theirs = (program, "record", "--gguf", "model.gguf", "--token-ids", "ids.txt")
        for what, options in (("dense", ()),
                              ("density 0.3 upstream", ("--upstream-density", "0.3")),
                              ("features", ("--features",))):
            call(*ours, *options, "--out", "ours.safetensors")
            call(*theirs, *options, "--no-recall", "--out", "theirs.safetensors")
            compare(read("ours.safetensors"), read("theirs.safetensors"), what)
        call(program, "trace", "check", "ours.safetensors")
        # A window starts at position 0 again: the second half alone gives the same.
        half = TOKENS // 2
        call(*ours, "--context", str(half), "--out", "windows.safetensors")
        call(*ours, "--offset", str(half), "--out", "second.safetensors")
        _, windows = read("windows.safetensors")
        _, second = read("second.safetensors")
        assert np.isnan(windows["nll"][half])
        np.testing.assert_allclose(windows["nll"][half + 1:], second["nll"][1:], rtol=1e-4)
        error = call(*ours, "--offset", str(TOKENS - 1), "--out", "x", status=1)
        assert "1 tokens are left after --offset 47; a trace needs 2" in error, error
        with open("wrong.txt", "w", encoding="ascii") as file:
            file.write(f"1 2 {VOCAB}")
        error = call(*ours[:-1], "wrong.txt", "--out", "x", status=1)
        assert f"0 ... {VOCAB - 1}" in error, error
    print("record_hf.py agrees with leanstream record")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))

#!/usr/bin/env python3
"""An activation trace of a transformers model, as `leanstream record` writes one of a GGUF model.

    traces/record_hf.py --model mistralai/Mistral-7B-v0.1 --text my.txt --out my.safetensors

Works for every decoder whose gated MLPs end in a linear `down_proj` (Llama, Mistral, Qwen2, Phi-3,
...): its input h = act(gate) * up is what the model computes, whatever the activation, and the
importance of a neuron is |h_j| * ||column j of down_proj||. traces/README.md documents the file.
Longer texts are cut into windows of --context tokens, each read from position 0. Needs numpy,
torch and transformers (traces/install_record_hf.sh); memory: 4 bytes a token, layer and neuron
besides the model.
"""

import argparse
import json
import shlex
import sys

import numpy as np

LEVELS = 256
FIRST_FINE, LAST_FINE = 32, 232      # codes, as in traces/levels.h
LOWEST_BELOW_LOW, WIDEST_FINE = 1000.0, 256.0
LOW_DENSITY, HIGH_DENSITY, OUTSIDE = 0.65, 0.03, 0.05
STAGES = 8
FEATURES = STAGES + 3                # -2, -1, 0 ... 8
LARGEST_HALF = 65504.0


class InputError(Exception):
    """What the user gave is wrong; the message says what would be right."""


def level_table(s):
    """f32 [256] for importances s [tokens, ffn] of one layer: the table of traces/README.md."""
    top = s.max()
    if top < 1e-20:
        return np.zeros(LEVELS, "<f4")
    tokens, ffn = s.shape

    def thresholds(density):
        rank = min(max(round(density * ffn), 1), ffn)
        return np.sort(np.partition(s, ffn - rank, axis=1)[:, ffn - rank])

    def percentile(values, share):
        return values[int(np.floor(share * (tokens - 1) + 0.5))]

    low = percentile(thresholds(LOW_DENSITY), OUTSIDE)
    high = percentile(thresholds(HIGH_DENSITY), 1 - OUTSIDE)
    if high < top * 1e-12:
        high = top
    low, high, top = float(max(low, np.float32(high / WIDEST_FINE))), float(high), float(top)
    levels = np.zeros(LEVELS)
    c = np.arange(LEVELS)

    def between(a, b, part, parts):
        return a * (b / a) ** (part / parts)

    coarse, fine, tail = c[1:FIRST_FINE], c[FIRST_FINE:LAST_FINE + 1], c[LAST_FINE + 1:]
    levels[coarse] = between(low / LOWEST_BELOW_LOW, low, coarse - 1, FIRST_FINE - 1)
    levels[fine] = between(low, high, fine - FIRST_FINE, LAST_FINE - FIRST_FINE)
    levels[tail] = between(high, top, tail - LAST_FINE, LEVELS - 1 - LAST_FINE)
    return np.maximum.accumulate(levels.astype("<f4"))


def codes_of(s, levels):
    """u8: the nearest level in log space; 0 below half of level 1."""
    if levels[-1] == 0:
        return np.zeros(s.shape, "u1")
    wide = levels.astype("f8")
    borders = np.concatenate([[wide[1] / 2], np.sqrt(wide[1:-1] * wide[2:])]).astype("<f4")
    return np.searchsorted(borders, s, "right").astype("u1")


def write_trace(path, importance, ids, nll, metadata, features=None):
    """importance f32 [T, L, F] >= 0, ids [T], nll f32 [T], features f16 [T, L, 11, d] or None."""
    tokens, layers, ffn = importance.shape
    if not np.isfinite(importance).all():
        t, l, j = np.argwhere(~np.isfinite(importance))[0]
        raise InputError(f"importance of token {t}, layer {l}, neuron {j} is not finite; try "
                         "--dtype float32")
    levels = np.stack([level_table(importance[:, l]) for l in range(layers)])
    codes = np.empty(importance.shape, "u1")
    for l in range(layers):
        codes[:, l] = codes_of(importance[:, l], levels[l])
    tensors = {"levels": (levels, "F32"), "tokens": (np.asarray(ids, "<i4"), "I32"),
               "nll": (np.asarray(nll, "<f4"), "F32")}
    if features is not None:
        tensors["features"] = (features, "F16")
    tensors["importance"] = (codes, "U8")
    head, at = {"__metadata__": metadata}, 0
    for name, (array, dtype) in tensors.items():
        head[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for array, _ in tensors.values():
            out.write(np.ascontiguousarray(array).tobytes())


class Recorder:
    """Hooks of a model; keeps what the layers compute for one window after the other."""

    def __init__(self, torch, model, upstream_density, features):
        self.torch = torch
        self.density = upstream_density
        self.layers = self.find_layers(torch, model)
        downs = [layer.mlp.down_proj for layer in self.layers]
        if any(down.weight.ndim != 2 or not down.weight.is_floating_point() for down in downs):
            raise InputError("down_proj has no matrix of floating-point weights; quantised models "
                             "are not supported")
        if len({tuple(down.weight.shape) for down in downs}) != 1:
            raise InputError("the layers' MLPs differ in shape; a trace has one for all")
        self.hidden, self.ffn = downs[0].weight.shape
        self.norms = [down.weight.detach().float().norm(dim=0) for down in downs]
        self.importance = []                # of each window, f32 [tokens, layers, ffn]
        self.features = [] if features else None  # f16 [tokens, layers, 11, hidden]
        if features and not all(hasattr(l, "post_attention_layernorm") for l in self.layers):
            raise InputError("--features needs layers with post_attention_layernorm, whose input "
                             "is the residual stream after attention")
        for i, layer in enumerate(self.layers):
            if features:
                layer.register_forward_pre_hook(self.layer_hook(i), with_kwargs=True)
                layer.post_attention_layernorm.register_forward_pre_hook(self.residual_hook())
                layer.mlp.register_forward_pre_hook(self.mlp_hook(i), with_kwargs=True)
            layer.mlp.down_proj.register_forward_pre_hook(self.down_hook(i))

    @staticmethod
    def find_layers(torch, model):
        """The longest list of decoder layers with mlp.down_proj."""
        def gated(module):
            return hasattr(getattr(module, "mlp", None), "down_proj")
        lists = [list(m) for m in model.modules()
                 if isinstance(m, torch.nn.ModuleList) and len(m) > 0 and all(map(gated, m))]
        if not lists:
            raise InputError(f"{type(model).__name__} has no list of layers with mlp.down_proj; "
                             "only gated MLPs of one expert are supported")
        return max(lists, key=len)

    def begin(self, tokens):
        self.importance.append(np.empty((tokens, len(self.layers), self.ffn), "<f4"))
        if self.features is not None:
            shape = (tokens, len(self.layers), FEATURES, self.hidden)
            self.features.append(np.empty(shape, "<f2"))

    def keep_feature(self, l, feature, value):
        rows = value.float().clamp(-LARGEST_HALF, LARGEST_HALF).to(self.torch.float16).cpu().numpy()
        self.features[-1][:, l, feature + 2] = rows.reshape(-1, self.hidden)

    def layer_hook(self, l):
        def hook(_module, args, kwargs):
            x = (args[0] if args else kwargs["hidden_states"]).detach()
            if l == 0:
                self.input = x
                self.stages = [x] * (STAGES + 1)
            self.keep_feature(l, -2, self.input)
            for k, stage in enumerate(self.stages):
                self.keep_feature(l, k, stage)
            self.input = x
        return hook

    def residual_hook(self):
        def hook(_module, args):
            self.residual = args[0].detach()
        return hook

    def mlp_hook(self, l):
        def hook(_module, args, kwargs):
            self.keep_feature(l, -1, (args[0] if args else kwargs["hidden_states"]).detach())
        return hook

    def down_hook(self, l):
        def hook(down, args):
            h = args[0]
            s = h.detach().float().abs() * self.norms[l]
            self.importance[-1][:, l] = s.reshape(-1, self.ffn).cpu().numpy()
            if self.density < 1:
                count = min(max(round(self.density * self.ffn), 1), self.ffn)
                kept = self.torch.zeros_like(h)
                top = s.topk(count, dim=-1).indices
                kept.scatter_(-1, top, h.gather(-1, top))
                h = kept
            if self.features is not None:
                self.make_stages(down, h, s)
            return (h,)
        return hook

    def make_stages(self, down, h, s):
        """The residual after 0/8 ... 8/8 of the computed importance, most important first."""
        torch = self.torch
        s = torch.where(h == 0, torch.zeros_like(s), s)
        order = s.argsort(dim=-1, descending=True, stable=True)
        before = s.gather(-1, order).double().cumsum(-1) - s.gather(-1, order).double()
        total = s.double().sum(-1, keepdim=True)
        self.stages = [self.residual]
        for k in range(1, STAGES + 1):
            taken = (before < total * k / STAGES) if k < STAGES else torch.ones_like(s, dtype=bool)
            mask = torch.zeros_like(h).scatter_(-1, order, taken.to(h.dtype))
            bias = 0 if down.bias is None else down.bias
            self.stages.append(self.residual + torch.nn.functional.linear(h * mask, down.weight)
                               + bias)


def read_ids(args, tokenizer_of):
    if args.token_ids:
        with open(args.token_ids, encoding="ascii") as file:
            ids = [int(word) for word in file.read().replace(",", " ").split()]
    else:
        with open(args.text, encoding="utf-8") as file:
            ids = tokenizer_of()(file.read()).input_ids
    ids = ids[args.offset:]
    ids = ids[:args.tokens] if args.tokens else ids
    if len(ids) < 2:
        raise InputError(f"{len(ids)} tokens are left after --offset {args.offset}; a trace needs "
                         "2")
    return ids


def record(args):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    dtype = "auto" if args.dtype == "auto" else getattr(torch, args.dtype)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=dtype)
    model = model.to(args.device).eval()
    recorder = Recorder(torch, model, args.upstream_density, args.features)
    ids = read_ids(args, lambda: transformers.AutoTokenizer.from_pretrained(args.model))
    vocab = model.get_input_embeddings().weight.shape[0]
    if not all(0 <= i < vocab for i in ids):
        raise InputError(f"a token id is outside of the model's vocabulary, 0 ... {vocab - 1}")
    limit = getattr(model.config, "max_position_embeddings", None) or args.context
    context = min(args.context, limit)
    nll = np.full(len(ids), np.nan, "<f4")
    for first in range(0, len(ids), context):
        window = torch.tensor([ids[first:first + context]], device=args.device)
        recorder.begin(window.shape[1])
        with torch.inference_mode():
            logits = model(input_ids=window, use_cache=False).logits[0, :-1].float()
            losses = torch.nn.functional.cross_entropy(logits, window[0, 1:], reduction="none")
        nll[first + 1:first + window.shape[1]] = losses.clamp(min=0).cpu().numpy()
        print(f"{min(first + context, len(ids))} of {len(ids)} tokens", file=sys.stderr)
    metadata = {
        "format": "leanstream-trace", "format_version": "1", "kind": "recorded",
        "model.name": args.model_name or args.model.rstrip("/").split("/")[-1],
        "model.layers": str(len(recorder.layers)), "model.hidden": str(recorder.hidden),
        "model.ffn": str(recorder.ffn),
        "source": args.source or (args.text or args.token_ids).split("/")[-1],
        "upstream_density": repr(args.upstream_density), "recall_density": "0",
        "units": "importance: |act(gate_j)*up_j| * ||down_j||_2 (levels[layer, code]); nll: nats; "
                 "features: residual stream, unscaled",
        "tool": f"record_hf.py with transformers {transformers.__version__}",
        "command": shlex.join(sys.argv)}
    features = None if recorder.features is None else np.concatenate(recorder.features)
    write_trace(args.out, np.concatenate(recorder.importance), ids, nll, metadata, features)
    known = nll[~np.isnan(nll)]
    print(f"{args.out}: {len(ids)} tokens, perplexity {np.exp(known.mean()):.4f}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="name or folder of a transformers model")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", help="text file (UTF-8)")
    text.add_argument("--token-ids", help="file of ids, separated by blanks or commas")
    parser.add_argument("--offset", type=int, default=0, help="tokens of the text to leave out")
    parser.add_argument("--tokens", type=int, default=0, help="at most so many; 0: all")
    parser.add_argument("--context", type=int, default=2048,
                        help="tokens of a window (at most the model's context)")
    parser.add_argument("--upstream-density", type=float, default=1.0,
                        help="share of the neurons that each layer computes while recording")
    parser.add_argument("--features", action="store_true",
                        help="also features -2 ... 8: 22 bytes a token, layer and hidden dimension")
    parser.add_argument("--dtype", default="auto",
                        choices=["auto", "float32", "bfloat16", "float16"])
    parser.add_argument("--device", default="cpu", help="as in torch: cpu, cuda, cuda:1, ...")
    parser.add_argument("--model-name", default="", help="name in the header")
    parser.add_argument("--source", default="", help="what the text is, for the header")
    parser.add_argument("--out", required=True, help="trace file")
    args = parser.parse_args()
    if args.offset < 0 or args.tokens < 0 or args.context < 2:
        parser.error("--offset and --tokens must be at least 0, --context at least 2")
    if not 0 < args.upstream_density <= 1:
        parser.error(f"--upstream-density {args.upstream_density}: above 0 and at most 1")
    return args


if __name__ == "__main__":
    try:
        record(arguments())
    except (InputError, OSError, ValueError) as error:
        sys.exit(f"record_hf.py: {error}")

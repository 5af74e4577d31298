#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/model/*.safetensors: what PyTorch computes for tiny models.

The models here are written the usual way, padded batches and masks, modules and autograd in fp64,
after ParlAI's TransformerGenerator and GPT-2; nothing follows the C++ code but the names under which
weights and gradients are stored. Run with PyTorch, numpy and safetensors:
    python3 tests/model/export_goldens.py
"""
import json
import math
import os

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file
from torch import nn

FOLDER = os.path.join(os.path.dirname(__file__), "..", "golden", "model")
START, END = 1, 2
BASE = {
    "model": "transformer/generator", "variant": "aiayn", "activation": "relu",
    "positions": "sinusoidal", "embeddings_scale": "sqrt_dim", "vocabulary_size": 37,
    "embedding_size": 16, "ffn_size": 24, "n_heads": 2, "n_encoder_layers": 1,
    "n_decoder_layers": 2, "n_positions": 12, "dropout": 0, "attention_dropout": 0,
    "relu_dropout": 0, "label_smoothing": 0,
}
GPT2 = {**BASE, "model": "gpt2", "variant": "prelayernorm", "activation": "gelu_tanh",
        "positions": "learned", "embeddings_scale": "none", "n_encoder_layers": 0}
CASES = {
    "aiayn_relu_sinusoidal": BASE,
    "aiayn_gelu_learned_smoothed": {**BASE, "activation": "gelu", "positions": "learned",
                                    "label_smoothing": 0.1},
    "prelayernorm_gelu_learned": {**BASE, "variant": "prelayernorm", "activation": "gelu",
                                  "positions": "learned", "n_encoder_layers": 2,
                                  "n_decoder_layers": 1},
    "prelayernorm_relu_unscaled": {**BASE, "variant": "prelayernorm", "embeddings_scale": "none",
                                   "n_heads": 4, "label_smoothing": 0.2},
    "xlm_gelu_learned": {**BASE, "variant": "xlm", "activation": "gelu", "positions": "learned"},
    "gpt2": GPT2,
}


def pattern(name, shape):
    """Weights that need no file: a hash of the name and the element's index (see golden.cpp)."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    x = (np.arange(np.prod(shape), dtype=np.uint64) * 2654435761 + seed) % 2**32
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> shift)) * factor % 2**32
    u = (x ^ (x >> 16)).astype(np.float64) / 2**32 - 0.5
    if len(shape) == 2:
        u = u * math.sqrt(12 / shape[1])
    else:
        u = u * 0.4 + (1 if "norm" in name and name.endswith("weight") else 0)
    return torch.tensor(u.astype(np.float32).reshape(shape)).double()


def position_codes(n, d):
    angle = np.array([[p / np.power(10000, 2 * j / d) for j in range(d // 2)] for p in range(n)])
    codes = np.zeros((n, d))
    codes[:, 0::2], codes[:, 1::2] = np.sin(angle), np.cos(angle)
    return torch.tensor(codes)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        d = c["embedding_size"]
        self.heads = c["n_heads"]
        self.q_lin, self.k_lin, self.v_lin, self.out_lin = (nn.Linear(d, d) for _ in range(4))

    def forward(self, query, key, mask):  # mask [B, query or 1, key]: True may be seen
        def split(t):
            return t.view(t.shape[0], t.shape[1], self.heads, -1).transpose(1, 2)

        q, k, v = split(self.q_lin(query)), split(self.k_lin(key)), split(self.v_lin(key))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~mask[:, None], -1e20).softmax(-1)
        return self.out_lin((weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.lin1 = nn.Linear(c["embedding_size"], c["ffn_size"])
        self.lin2 = nn.Linear(c["ffn_size"], c["embedding_size"])
        self.f = {"relu": F.relu, "gelu": F.gelu,
                  "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]

    def forward(self, x):
        return self.lin2(self.f(self.lin1(x)))


class Layer(nn.Module):
    def __init__(self, c, cross):
        super().__init__()
        norm = lambda: nn.LayerNorm(c["embedding_size"], eps=1e-5)
        self.pre = c["variant"] == "prelayernorm"
        self.self_attention, self.norm1 = Attention(c), norm()
        self.encoder_attention = Attention(c) if cross else None
        self.norm2 = norm() if cross else None
        self.ffn, self.norm3 = FeedForward(c), norm()

    def sublayer(self, x, norm, branch):
        return x + branch(norm(x)) if self.pre else norm(x + branch(x))

    def forward(self, x, mask, encoded=None, encoded_mask=None):
        x = self.sublayer(x, self.norm1, lambda y: self.self_attention(y, y, mask))
        if self.encoder_attention:
            x = self.sublayer(x, self.norm2,
                              lambda y: self.encoder_attention(y, encoded, encoded_mask))
        return self.sublayer(x, self.norm3, self.ffn)


class Stack(nn.Module):
    def __init__(self, c, layers, decoder):
        super().__init__()
        d, n = c["embedding_size"], c["n_positions"]
        self.c, self.decoder = c, decoder
        self.learned = c["positions"] == "learned"
        self.position_embeddings = nn.Embedding(n, d)
        if not self.learned:
            self.position_embeddings.weight = nn.Parameter(position_codes(n, d), False)
        if c["variant"] != "aiayn":
            self.norm_embeddings = nn.LayerNorm(d, eps=1e-5)
        cross = decoder and c["model"] != "gpt2"
        self.layers = nn.ModuleList(Layer(c, cross) for _ in range(layers))

    def forward(self, tokens, embeddings, mask, *encoder):
        x = embeddings(tokens)
        if self.c["embeddings_scale"] == "sqrt_dim":
            x = x * math.sqrt(self.c["embedding_size"])
        xlm = self.c["variant"] == "xlm"
        if xlm and self.decoder:
            x = self.norm_embeddings(x)
        x = x + self.position_embeddings(torch.arange(tokens.shape[1]).expand_as(tokens))
        if xlm and not self.decoder:
            x = self.norm_embeddings(x)
        for layer in self.layers:
            x = layer(x, mask, *encoder)
        return self.norm_embeddings(x) if self.c["variant"] == "prelayernorm" else x


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embeddings = nn.Embedding(c["vocabulary_size"], c["embedding_size"])
        if c["model"] != "gpt2":
            self.encoder = Stack(c, c["n_encoder_layers"], decoder=False)
        self.decoder = Stack(c, c["n_decoder_layers"], decoder=True)

    def forward(self, batch):
        tokens, _ = pad(batch["target"])
        causal = torch.ones(tokens.shape[1], tokens.shape[1]).tril().bool()
        encoder = ()
        if self.c["model"] != "gpt2":
            source, real = pad(batch["source"])
            encoder = (self.encoder(source, self.embeddings, real[:, None]), real[:, None])
        x = self.decoder(tokens, self.embeddings, causal.expand(len(tokens), -1, -1), *encoder)
        return F.linear(x, self.embeddings.weight)

    def losses(self, batch):
        """What is minimised and the negative log-likelihood, both summed over labelled tokens."""
        logits = self(batch).flatten(0, 1)
        logits = logits.float() if logits.dtype == torch.bfloat16 else logits
        labels = pad(batch["labels"], -100)[0].flatten()
        smoothing = self.c["label_smoothing"]
        return (F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing),
                F.cross_entropy(logits, labels, reduction="sum"))

    def stored(self, of):
        """name -> of(parameter), with the matrices that are stored packed packed."""
        named = dict(self.named_parameters())
        out = {}
        for name, p in named.items():
            if not p.requires_grad or "k_lin" in name or "v_lin" in name:
                continue
            value = of(p)
            if "q_lin" in name:
                k, v = (of(named[name.replace("q_lin", x)]) for x in ("k_lin", "v_lin"))
                if "encoder_attention" in name:
                    out[name.replace("q_lin", "kv")] = torch.cat([k, v])
                    name = name.replace("q_lin", "q")
                else:
                    name, value = name.replace("q_lin", "qkv"), torch.cat([value, k, v])
            out[name.replace("out_lin", "out")] = value
        return {self.rename(name): value for name, value in out.items()}

    def rename(self, name):
        if name.startswith("encoder"):
            name = name.replace("self_attention", "attention")
        two_norms = name.startswith("encoder") or self.c["model"] == "gpt2"
        return name.replace("norm3", "norm2") if two_norms else name

    def set_pattern(self):
        """Fills the packed matrices with the pattern of their stored names, then unpacks them."""
        views = {id(p): None for p in self.parameters()}
        order = []

        def note(p):
            order.append(p)
            return torch.full(p.shape, float(len(order) - 1), dtype=torch.float64)

        for name, tags in self.stored(note).items():
            values = pattern(name, tuple(tags.shape))
            for tag in tags.unique():
                p = order[int(tag)]
                p.data = values[tags == tag].reshape(p.shape).clone()
                views[id(p)] = True
        assert all(views[id(p)] for p in self.parameters() if p.requires_grad)


def pad(rows, filler=0):
    longest = max(len(r) for r in rows)
    out = torch.full((len(rows), longest), filler)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        out[i, :len(row)] = torch.tensor(row)
        mask[i, :len(row)] = True
    return out, mask


def make_batch(c, rng, lengths):
    words = lambda n: [int(w) for w in rng.integers(4, c["vocabulary_size"], n)]
    batch = {"source": [], "target": [], "labels": []}
    for source, target in lengths:
        text, reply = words(source), words(target - 1) + [END]
        if c["model"] == "gpt2":  # the context is part of the row and has no labels
            row = text + [START] + reply
            batch["target"].append(row[:-1])
            batch["labels"].append([-100] * source + row[source + 1:])
        else:
            batch["source"].append(text)
            batch["target"].append([START] + reply[:-1])
            batch["labels"].append(reply)
    return batch


def batch_tensors(batch, prefix):
    """Rows end to end and their lengths; labels plus one, 0 where there is none."""
    out = {}
    for side, rows in batch.items():
        flat = [t for row in rows for t in row]
        flat = [max(t + 1, 0) for t in flat] if side == "labels" else flat
        out[f"{prefix}{side}"] = np.array(flat, dtype=np.uint64)
        out[f"{prefix}{side}.lengths"] = np.array([len(r) for r in rows], dtype=np.uint64)
    return {name: value for name, value in out.items() if value.size}


def export(name, tensors, config):
    to_array = lambda t: t if isinstance(t, np.ndarray) else t.detach().numpy().astype(np.float32)
    save_file({k: np.ascontiguousarray(to_array(t)) for k, t in tensors.items()},
              os.path.join(FOLDER, name + ".safetensors"), {"config": json.dumps(config)})


def bf16_errors(model, batch, exact):
    """What bf16 costs PyTorch itself: the error's share of the whole gradient, of the worst tensor."""
    half = Transformer(model.c)
    half.load_state_dict(model.state_dict())
    half.bfloat16().losses(batch)[0].backward()
    error = {n: g.double() - exact[n] for n, g in half.stored(lambda p: p.grad).items()}
    norm = lambda tensors: math.sqrt(sum(float(t.square().sum()) for t in tensors))
    worst = max(norm([error[n]]) / norm([exact[n]]) for n in exact)
    return [norm(error.values()) / norm(exact.values()), worst]


def export_gradients(name, config):
    model = Transformer(config).double()
    model.set_pattern()
    batch = make_batch(config, np.random.default_rng(7), [(5, 4), (2, 6), (7, 1), (1, 3)])
    loss, nll = model.losses(batch)
    loss.backward()
    gradients = model.stored(lambda p: p.grad)
    rounding = bf16_errors(model, batch, gradients)
    print(name, "bf16 errors", rounding)
    export(name, {**batch_tensors(batch, ""), "loss": loss[None], "nll": nll[None],
                  "bf16_errors": np.array(rounding, dtype=np.float32),
                  **{"gradient." + n: g for n, g in gradients.items()}}, config)


def export_curve(name, config, steps=20, batches=4):
    """Adam(lr 3e-3) on the loss per token; the batches come round again and again."""
    model = Transformer(config).double()
    model.set_pattern()
    rng = np.random.default_rng(11)
    lengths = lambda: [(int(rng.integers(1, 6)), int(rng.integers(1, 6))) for _ in range(4)]
    data = [make_batch(config, rng, lengths()) for _ in range(batches)]
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    curve = []
    for step in range(steps):
        batch = data[step % batches]
        tokens = sum(t >= 0 for row in batch["labels"] for t in row)
        loss = model.losses(batch)[0] / tokens
        curve.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tensors = {"curve": np.array(curve, dtype=np.float32)}
    for i, batch in enumerate(data):
        tensors.update(batch_tensors(batch, f"{i}."))
    export("curve_" + name, tensors, config)
    print(name, "loss per token from", curve[0], "to", curve[-1])


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    for case, case_config in CASES.items():
        export_gradients(case, case_config)
    export_curve("generator", BASE)
    export_curve("gpt2", GPT2)

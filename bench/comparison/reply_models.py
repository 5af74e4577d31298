# SPDX-License-Identifier: Apache-2.0
"""Models and prompts for the rows of generation. They are made once in a work folder."""
import os
import subprocess

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "shakespeare")
MAX_PROMPTS = 64

# Learned positions are in the file of the weights, so that the peer can take them from there.
SHARED = ("--n-positions 256 --text-truncate 128 --label-truncate 128 --max-train-steps 1 -bs 16 "
          "--optimizer adam --skip-generation true").split()
KINDS = {
    "seq2seq": "-m transformer/generator --learn-positional-embeddings true --n-layers 8 --n-heads 2 --embedding-size 256 --ffn-size 1024",
    "gpt2": "-m gpt2 --n-layers 12 --n-heads 12 --embedding-size 768 --ffn-size 3072",
    "quickstart": "-m transformer/generator --learn-positional-embeddings true --n-layers 2 --n-heads 4 --embedding-size 192 --ffn-size 512",
}


def prompts_of(lines):
    """Returns the texts of rows in ParlAI's format, one a line."""
    texts = [field[5:] for line in lines for field in line.rstrip("\n").split("\t") if field.startswith("text:")]
    return texts[:MAX_PROMPTS]


def command(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")


class ReplyModels:
    """Makes what it is asked for, unless the folder has it."""

    def __init__(self, lockstep, folder):
        self.lockstep, self.folder = lockstep, folder

    def prompts(self):
        path = os.path.join(self.folder, "prompts.txt")
        if not os.path.exists(path):
            os.makedirs(self.folder, exist_ok=True)
            with open(os.path.join(EXAMPLES, "valid.txt"), encoding="utf-8") as file:
                texts = prompts_of(file)
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(text + "\n" for text in texts))
        return path

    def contexts(self, kind):
        """Returns the file of the prompts' token ids, which our program writes and the peer reads."""
        return os.path.join(self.folder, f"contexts-{kind}.json")

    def model(self, kind):
        path, data = os.path.join(self.folder, kind), os.path.join(self.folder, "data")
        if not os.path.exists(os.path.join(data, "dictionary.txt")):
            command([self.lockstep, "prepare", "--format", "parlai", "--input", os.path.join(EXAMPLES, "train.txt"),
                     "--valid", os.path.join(EXAMPLES, "valid.txt"), "--dict-lower", "true", "--out", data, "--overwrite", "true"])
        if not os.path.exists(os.path.join(path, "model.safetensors")):
            command([self.lockstep, "train", "--data", data, "-mf", path, *KINDS[kind].split(), *SHARED])
        return path

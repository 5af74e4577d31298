#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/tokenizer_training/golden: what BpeTrainer of `tokenizers` learns of the example text, and of words of few
letters, of which many pairs are equally frequent and overlap (Python; tokenizers 0.23).

    tests/data/tokenizer_training/make_bpe_golden.py"""
import json
import os
import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..', '..')
GOLDEN = os.path.join(HERE, 'golden')
SPECIAL = '<|endoftext|>'


def trained(texts, vocab_size, min_frequency=0):
    """The same three times: what `tokenizers` does in the order of a hash table would differ."""
    found = set()
    for _ in range(3):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=vocab_size, min_frequency=min_frequency, show_progress=False, special_tokens=[SPECIAL],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        found.add(tokenizer.to_str())
    assert len(found) == 1
    return Tokenizer.from_str(found.pop())


def model_of(tokenizer):
    model = json.loads(tokenizer.to_str())['model']
    pieces = sorted(model['vocab'], key=model['vocab'].get)
    assert [model['vocab'][piece] for piece in pieces] == list(range(len(pieces)))
    return {'pieces': pieces, 'merges': [' '.join(merge) for merge in model['merges']]}


def few_letters(letters, words, longest, seed):
    chosen = random.Random(seed)
    return ' '.join(''.join(chosen.choice(letters) for _ in range(chosen.randint(1, longest))) for _ in range(words))


def write(name, value):
    with open(os.path.join(GOLDEN, name + '.json'), 'w', encoding='utf-8') as file:
        json.dump(value, file, ensure_ascii=True, indent=0)
        file.write('\n')


def main():
    with open(os.path.join(ROOT, 'examples', 'shakespeare', 'plain.txt'), encoding='utf-8', newline='') as file:
        text = file.read()
    tokenizer = trained([text], 2000)
    sample = ['First Citizen:\nBefore we proceed, hear me speak.\n\nAll:\n', " I'll 'tis  o'er caf\u00e9 \u4e2d \U0001f44d", '']
    write('shakespeare', {**model_of(tokenizer), 'texts': [{'text': s, 'ids': tokenizer.encode(s).ids} for s in sample]})
    everything = trained([text], 100000)
    write('shakespeare_whole', {'size': everything.get_vocab_size(), 'last': model_of(everything)['merges'][-300:],
                                'of_two': trained([text], 100000, 2).get_vocab_size(),
                                'of_fifty': model_of(trained([text], 100000, 50))['merges'][-20:]})
    cases = []
    for seed in range(12):
        letters = ['ab', 'a', 'abc', 'ab\u00e9', 'aab'][seed % 5]
        given = few_letters(letters, 20 + 30 * seed, 4 + seed, seed)
        for size, least in ((270, 0), (290, 3), (100000, 0)):
            cases.append({'text': given, 'vocab_size': size, 'min_frequency': least,
                          'merges': model_of(trained([given], size, least))['merges']})
    write('few_letters', cases)


if __name__ == '__main__':
    main()

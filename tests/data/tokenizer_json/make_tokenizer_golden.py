#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/tokenizer_json/golden: small tokenizers that `tokenizers` trains on the example text, and what `tokenizers`
and transformers make of awkward texts with them (Python; tokenizers 0.23, transformers 5.24).

    tests/data/tokenizer_json/make_tokenizer_golden.py"""
import json
import os
import random
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..', '..')
GOLDEN = os.path.join(HERE, 'golden')
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r'\p{N}{1,3}', r'\p{N}')
BYTES = pre_tokenizers.ByteLevel.alphabet()
AWKWARD = [' ', '  ', '\n', '\r\n', '\t', '\u00a0', '\u3000', '\u2028', '\u0085', '\u200b', '\ufeff', '\u200d', "'s", "'S", "'\u017f", "'LL",
           'a', 'Z', 'the', 'the king', 'e\u0301', '\u00e9', '\u212b', '\u1100\u1161', '\u0301', '\u4e2d', '\u0939', '\u094d', '\u0627', '\ud55c',
           '1', '12345', '\u0967', '\u00bd', '\u2167', '.', '...', '?!', '\u3002', '\u2581', '<s>', '</s>', '<mask>', '<0x0A>', '<|endoftext|>', '<a>',
           '\U0001f469\u200d\U0001f467', '\U0001d400', '\x00', '\x1f', '\x7f', '\ufffd', '\U0010ffff', '\u0120', '@@', '@@ ', '_']
TEXTS = ['', ' ', 'Hello world', ' Hello  world ', 'hello\nworld\n', 'First Citizen:\nBefore we proceed, hear me speak.\n\nAll:\n',
         "I'LL we'Ve don't 'tis o'er they'd 'S \u2019s '\u017f", '1234567 3.14159 007 1,000,000 0x1F', 'a\tb\t\tc \t d   \n   e\r\n\r\nf',
         'caf\u00e9 cafe\u0301 \u212b A\u030a \u1e9b\u0323 \uac00 \u1100\u1161', '\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \u2764\ufe0f',
         '\u6211\u4eec\u6765\u8bf4\u3002\u3053\u3093\u306b\u3061\u306f\uff01\ud55c\uad6d\uc5b4', '\u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947 \u0967\u0968\u0969',
         'a\u00a0b\u3000c\u0085d\u2028e\u200bf\ufeffg', '\u00bd \u2167 \u00b2 \u2460 x\u2082 \u00aa \u02b0', '!!!???...---___===>>><<<',
         "fn(x)=={'a':[1,2]};//ok\n    if (x != 0) { return x_1; }\n", '<s></s><|endoftext|><|im_end|>[INST]<unk> <mask> x <mask>  y',
         'x' * 70, 'ab' * 60, ' ' * 40 + 'a', 'thethethe' * 12, '\x00\x01\x7f\ue000\U0010ffff', '<a> <a>b b<a> <b> <b>x  <c>  <d>y <e><ee><e', '\u2581the \u2581 the', 'a\U00016ff4b\U00011de31 2']


def random_texts(count, seed):
    chosen = random.Random(seed)
    return [''.join(chosen.choice(AWKWARD) for _ in range(chosen.randint(1, 12))) for _ in range(count)]


def train(tokenizer, vocab_size, **options):
    path = os.path.join(ROOT, 'examples', 'shakespeare', 'train.txt')
    with open(path, encoding='utf-8') as file:
        lines = [line.replace('\t', ' ') for line in file][:3000]
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, **options))
    return tokenizer


def special(content, **flags):
    return AddedToken(content, special=True, **{'normalized': False, **flags})


def byte_level(vocab_size=420):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, vocab_size, initial_alphabet=BYTES)


def gpt2():
    tokenizer = byte_level()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens([special('<|endoftext|>', normalized=True)])
    return tokenizer


def few_bytes():
    """A byte-level vocabulary that lacks most bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, 300)


def llama3():
    state = json.loads(byte_level(380).to_str())
    for piece in ('\u0120' + 'unmerged', 'Hello', '123', '<|endoftext|>'):
        state['model']['vocab'].setdefault(piece, len(state['model']['vocab']))
    state['model'].update(ignore_merges=True, merges=[' '.join(merge) for merge in state['model']['merges']])
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Split(Regex(LLAMA3), 'isolated'),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.add_special_tokens([special('<s>'), special('</s>'), special('<|endoftext|>'), special('<mask>')])
    template = processors.TemplateProcessing(single='<s> <mask> $A </s>', pair='<s> $A $B', special_tokens=[
        ('<s>', tokenizer.token_to_id('<s>')), ('</s>', tokenizer.token_to_id('</s>')), ('<mask>', tokenizer.token_to_id('<mask>'))])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def qwen2():
    tokenizer = byte_level(380)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), 'isolated'), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.add_special_tokens([special('<|endoftext|>'), special('<|im_end|>')])
    tokenizer.add_tokens([AddedToken('caf\u00e9', normalized=True), AddedToken('e\u0301', normalized=False)])
    return tokenizer


def roberta():
    state = json.loads(byte_level(380).to_str())
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.add_special_tokens([special('<s>'), special('<pad>'), special('</s>'), special('<unk>'), special('<mask>', lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ('</s>', tokenizer.token_to_id('</s>')), ('<s>', tokenizer.token_to_id('<s>')), trim_offsets=True, add_prefix_space=False)
    return tokenizer


def sentencepiece_state(byte_fallback):
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=True, byte_fallback=byte_fallback))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ['<unk>', '<s>', '</s>'] + ([f'<0x{byte:02X}>' for byte in range(256)] if byte_fallback else [])
    train(tokenizer, 250 + len(specials), special_tokens=specials)
    state = json.loads(tokenizer.to_str())
    state['added_tokens'] = state['added_tokens'][:3]
    return state


def llama():
    state = sentencepiece_state(True)
    state['added_tokens'].append({**state['added_tokens'][2], 'id': len(state['model']['vocab']), 'content': '<mask>', 'normalized': True,
                                  'special': False})
    tokenizer = Tokenizer.from_str(json.dumps({**state, 'pre_tokenizer': None}))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend('\u2581'), normalizers.Replace(' ', '\u2581')])
    tokenizer.decoder = decoders.Sequence([decoders.Replace('\u2581', ' '), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(' ', 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single='<s> $A', pair='<s> $A <s> $B', special_tokens=[('<s>', 1)])
    return tokenizer


def metaspace(scheme, fuse):
    state = sentencepiece_state(False)
    state['model']['fuse_unk'] = fuse
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=not fuse)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    return tokenizer


def suffix():
    """Pieces with </w> at the end of words and ## inside them."""
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', end_of_word_suffix='</w>', continuing_subword_prefix='##'))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r'\s+'), 'removed')
    tokenizer.decoder = decoders.BPEDecoder(suffix='</w>')
    return train(tokenizer, 400, special_tokens=['<unk>'], end_of_word_suffix='</w>', continuing_subword_prefix='##')


def added():
    tokenizer = byte_level(300)
    tokenizer.normalizer = normalizers.Replace('the', 'THE')
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    tokenizer.add_special_tokens([special('<s>'), special('<a>', lstrip=True), special('<b>', rstrip=True)])
    tokenizer.add_tokens([AddedToken('<c>', lstrip=True, rstrip=True), AddedToken('<d>', single_word=True), AddedToken('king', single_word=True),
                          AddedToken('<e>'), AddedToken('<ee>'), AddedToken('<e><e'), AddedToken('thethe', normalized=True),
                          AddedToken('\u2581the', normalized=False), AddedToken('  ', normalized=False), AddedToken('\u00bd', single_word=True)])
    return tokenizer


def cases_of(tokenizer, texts):
    cases = []
    for text in texts:
        tokenizer.encode_special_tokens = True
        split = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        case = {'text': text, 'ids': ids, 'decoded': tokenizer.decode(ids, skip_special_tokens=False)}
        if split != ids:
            case['split'] = split
        around = tokenizer.encode(text).ids
        if around != ids:
            case['around'] = around
        skipping = tokenizer.decode(around)
        if skipping != case['decoded']:
            case['skipping'] = skipping
        cases.append(case)
    return cases


def write(name, value, **options):
    with open(os.path.join(GOLDEN, name), 'w', encoding='utf-8') as file:
        json.dump(value, file, ensure_ascii=True, **options)
        file.write('\n')


def state_of(part):
    return json.loads(part.__getstate__())


def steps():
    """What single parts make of texts."""
    texts = ['a--b- c', '--', '-a', ' the-king, 12 3x!?', '\u2581a b  c ', '', 'x\u00bd1\u3002y', "it's 'S  \n \n x", '\u0120\u00e9 \x00']
    parts = [pre_tokenizers.Split(pattern, behavior, invert) for pattern in ('-', Regex(r'\s|-'), Regex(r'\d*'), Regex(r'(?=b)|$'))
             for behavior in ('removed', 'isolated', 'merged_with_previous', 'merged_with_next', 'contiguous') for invert in (False, True)]
    parts += [pre_tokenizers.Digits(True), pre_tokenizers.Digits(False), pre_tokenizers.Punctuation(), pre_tokenizers.Punctuation('contiguous')]
    parts += [pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split) for scheme in ('first', 'always', 'never') for split in (True, False)]
    parts += [pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex) for prefix in (True, False) for regex in (True, False)]
    parts.append(pre_tokenizers.Sequence([pre_tokenizers.Split(' ', 'isolated'), pre_tokenizers.Metaspace(prepend_scheme='first')]))
    parts.append(pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=True), pre_tokenizers.Split('\u0120', 'merged_with_next')]))
    found = {'pre_tokenizers': [[state_of(part), [[text, [piece for piece, _ in part.pre_tokenize_str(text)]] for text in texts]] for part in parts]}
    parts = [normalizers.NFC(), normalizers.Prepend('_'), normalizers.Replace(' ', '\u2581'), normalizers.Replace(Regex(r'\s+'), ' '),
             normalizers.Sequence([normalizers.NFC(), normalizers.Replace('\u00e9', 'e')]), normalizers.Replace(Regex(r'x*'), '-')]
    texts += ['e\u0301 \u212b', 'axxb']
    found['normalizers'] = [[state_of(part), [[text, part.normalize_str(text)] for text in texts if text]] for part in parts]
    lists = [['\u2581the', '\u2581', 'a\u2581b'], ['<0xE4>', '<0xB8>', '<0xAD>', 'x'], ['<0xE4>', '<0xB8>', 'x', '<0xFF>'], ['\u0120a', '\u00c3', '\u00a9', '<s>'],
             ['\u00e2\u0124', '\u00ac', '\u00f0\u0141', '\u0142 \u4e2d'], ['th', 'e</w>', 'king</w>'], ['  a  ', ' b'], ['<0x0A>', '\u2581']]
    parts = [decoders.ByteLevel(), decoders.ByteFallback(), decoders.Fuse(), decoders.Metaspace(prepend_scheme='first'), decoders.Metaspace(prepend_scheme='never'),
             decoders.Strip(' ', 1, 0), decoders.Strip(' ', 2, 1), decoders.BPEDecoder(suffix='</w>'), decoders.Replace('\u2581', ' '),
             decoders.Sequence([decoders.Replace('\u2581', ' '), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(' ', 1, 0)])]
    found['decoders'] = [[state_of(part), [[tokens, part.decode(tokens)] for tokens in lists]] for part in parts]
    return found


def blenderbot_small():
    from transformers import BlenderbotSmallTokenizer
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix='</w>'))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    train(tokenizer, 250, end_of_word_suffix='</w>')
    state = json.loads(tokenizer.to_str())['model']
    pieces = ['__null__', '__start__', '__end__', '__unk__', '__newln__']
    pieces += sorted({piece[:-4] if piece.endswith('</w>') else piece + '@@' for piece in state['vocab'] if piece != '</w>'})
    vocab = {piece: index for index, piece in enumerate(pieces)}
    merges = [' '.join(merge) for merge in state['merges']]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'vocab.json'), 'w', encoding='utf-8') as file:
            json.dump(vocab, file)
        with open(os.path.join(folder, 'merges.txt'), 'w', encoding='utf-8') as file:
            file.write('#version: 0.2\n' + '\n'.join(merges) + '\n')
        model = BlenderbotSmallTokenizer(os.path.join(folder, 'vocab.json'), os.path.join(folder, 'merges.txt'))
    texts = TEXTS + random_texts(60, 11) + ["It's HIS, (truly)! isn't it?", '__start__ x __end__', "don'\nt", 'a @@ b']
    cases = [{'text': text, 'ids': model(text, add_special_tokens=False).input_ids} for text in texts]
    for case in cases:
        case['decoded'] = model.decode(case['ids'])
    return {'vocab': vocab, 'merges': merges, 'cases': cases}


def main():
    os.makedirs(GOLDEN, exist_ok=True)
    makers = {'gpt2': gpt2, 'few_bytes': few_bytes, 'llama3': llama3, 'qwen2': qwen2, 'roberta': roberta, 'llama': llama, 'suffix': suffix, 'added': added,
              'metaspace_first': lambda: metaspace('first', False), 'metaspace_always': lambda: metaspace('always', True)}
    for seed, (name, make) in enumerate(makers.items()):
        tokenizer = make()
        write(f'{name}.json', {'tokenizer': json.loads(tokenizer.to_str()), 'cases': cases_of(tokenizer, TEXTS + random_texts(80, seed))})
    write('steps.json', steps())
    write('blenderbot_small.json', blenderbot_small())


if __name__ == '__main__':
    main()

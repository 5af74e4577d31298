#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs in tests/fuzz/corpus from which the fuzzers begin.

    tests/fuzz/make_corpus.py [DIR]"""
import gzip
import json
import os
import struct
import sys


def rank_record(beat, condition=0, waiting=0, still=10, window=50, us=900000, phase='computing'):
    numbers = [beat, 4711, condition, 60, waiting, 321, still, window, 10, us, 1000]
    return '\x1f'.join([*map(str, numbers), 'node1', phase, '', 'all_reduce "bucket 3"', '', ''])


def varint(value):
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a protobuf message: an int, a float or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack('<f', value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def sentencepiece_model(kind, charsmap=b'', more_words=()):
    """A model of 4 specials, 256 bytes and some pieces. kind: 1 unigram, 2 BPE."""
    unknown, control, normal, byte = 2, 3, 1, 6
    pieces = [('<pad>', 0.0, control), ('<s>', 0.0, control), ('</s>', 0.0, control), ('<unk>', 0.0, unknown)]
    pieces += [(f'<0x{value:02X}>', 0.0, byte) for value in range(256)]
    words = ['\u2581', 't', 'h', 'e', 'a', 'c', 'th', 'the', '\u2581the', 'at', 'cat', '\u2581cat', 'o', 'n', 'on', *more_words]
    pieces += [(word, -1.0 - index, normal) for index, word in enumerate(words)]
    model = b''.join(field(1, field(1, piece.encode()) + field(2, score) + field(3, sort))
                     for piece, score, sort in pieces)
    trainer = field(3, kind) + field(4, len(pieces)) + field(35, 1)
    trainer += field(40, 3) + field(41, 1) + field(42, 2) + field(43, 0)
    normalizer = field(1, b'identity') + field(2, charsmap) + field(3, 1) + field(4, 1) + field(5, 1)
    return model + field(2, trainer) + field(3, normalizer)


def charsmap():
    """A table of replacements: the units of a double array with nothing in it, and texts."""
    units = struct.pack('<256I', 0, *[1 << 31] * 255)
    return struct.pack('<I', len(units)) + units + b'a\0b\0'


def safetensors(tensors, metadata=None, tail=b''):
    header, data = {}, b''
    if metadata:
        header['__metadata__'] = metadata
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + data + tail


TRAINER = {'epoch': 1, 'step_in_epoch': 3, 'rows_in_epoch': 24, 'step': 13, 'updates': 13, 'epochs': 1.3, 'seed': 1, 'lanes': 4,
           'tokens': 1000, 'rows': 80, 'update_tokens': 900, 'nonfinite_in_a_row': 0, 'seconds': 2.5,
           'schedule': {'factor': 1.0, 'bad_validations': 0, 'validations': 1, 'best_loss': None},
           'validation': {'best': 3.25, 'without_better': 0, 'last_updates': 10, 'last_epochs': 1.0},
           'loss_scale': {'value': 65536.0, 'steps': 13, 'last_overflow': -1}}
MODEL = {'model': 'transformer/generator', 'variant': 'aiayn', 'activation': 'relu', 'positions': 'sinusoidal',
         'embeddings_scale': 'sqrt_dim', 'vocabulary_size': 1004, 'embedding_size': 32, 'ffn_size': 64, 'n_heads': 2,
         'n_encoder_layers': 1, 'n_decoder_layers': 2, 'n_positions': 128, 'dropout': 0.1, 'attention_dropout': 0.0,
         'relu_dropout': 0.0, 'label_smoothing': 0.0, 'dictionary_hash': '0123456789abcdef'}
DECODER = {'hidden_size': 64, 'intermediate_size': 96, 'num_hidden_layers': 2, 'num_attention_heads': 4,
           'num_key_value_heads': 2, 'head_dim': 16, 'hidden_act': 'silu', 'max_position_embeddings': 512, 'rms_norm_eps': 1e-5,
           'tie_word_embeddings': True, 'vocab_size': 1000, 'attention_bias': False, 'attention_dropout': 0.0, 'use_cache': True,
           'bos_token_id': 1, 'eos_token_id': [2, 3], 'torch_dtype': 'bfloat16', 'transformers_version': '4.45.0'}
HUGGINGFACE = {
    'llama': {**DECODER, 'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'mlp_bias': False, 'rope_theta': 500000.0,
              'rope_scaling': {'rope_type': 'llama3', 'factor': 32.0, 'high_freq_factor': 4.0, 'low_freq_factor': 1.0,
                               'original_max_position_embeddings': 128}},
    'qwen': {**DECODER, 'architectures': ['Qwen3ForCausalLM'], 'model_type': 'qwen3', 'dtype': 'float32', 'sliding_window': None,
             'use_sliding_window': False, 'max_window_layers': 2,
             'rope_parameters': {'rope_type': 'yarn', 'rope_theta': 1e6, 'factor': 4.0, 'original_max_position_embeddings': 128}},
    'mistral': {**DECODER, 'architectures': ['MistralForCausalLM'], 'model_type': 'mistral', 'sliding_window': 128},
    'gpt2': {'architectures': ['GPT2LMHeadModel'], 'model_type': 'gpt2', 'n_embd': 64, 'n_head': 4, 'n_layer': 2, 'n_inner': None,
             'n_positions': 128, 'n_ctx': 128, 'activation_function': 'gelu_new', 'attn_pdrop': 0.1, 'embd_pdrop': 0.1,
             'resid_pdrop': 0.1, 'layer_norm_epsilon': 1e-5, 'vocab_size': 1000, 'bos_token_id': 5, 'eos_token_id': 5},
    'bart': {'architectures': ['BartForConditionalGeneration'], 'model_type': 'bart', 'activation_function': 'gelu', 'd_model': 64,
             'encoder_layers': 2, 'decoder_layers': 2, 'encoder_attention_heads': 4, 'decoder_attention_heads': 4,
             'encoder_ffn_dim': 96, 'decoder_ffn_dim': 96, 'max_position_embeddings': 128, 'dropout': 0.1, 'vocab_size': 1000,
             'is_encoder_decoder': True, 'decoder_start_token_id': 2, 'forced_bos_token_id': 0, 'forced_eos_token_id': 2,
             'scale_embedding': False, 'bos_token_id': 0, 'eos_token_id': 2, 'pad_token_id': 1}}
PEFT = {'peft_type': 'LORA', 'task_type': 'CAUSAL_LM', 'base_model_name_or_path': 'models/base', 'bias': 'none', 'r': 8,
        'lora_alpha': 16, 'lora_dropout': 0.05, 'use_rslora': False, 'use_dora': False, 'fan_in_fan_out': False,
        'inference_mode': True, 'init_lora_weights': True, 'modules_to_save': None, 'rank_pattern': {}, 'alpha_pattern': {},
        'layers_to_transform': None, 'layers_pattern': None, 'revision': None}
ADAPTERS = {'llama': {**PEFT, 'target_modules': ['q_proj', 'v_proj', 'mlp.down_proj']},
            'gpt2': {**PEFT, 'target_modules': ['c_attn'], 'fan_in_fan_out': True, 'lora_alpha': 2.5, 'use_rslora': True},
            'all': {**PEFT, 'target_modules': 'all-linear'}}
DATASET = {'format_version': 1, 'kind': 'dialogue', 'tokenizer': 're', 'vocabulary': 1004,
           'dictionary_hash': '0123456789abcdef', 'rows_per_block': 64,
           'splits': [{'name': 'train', 'rows': 5, 'source_tokens': 20, 'target_tokens': 10, 'longest_source': 7,
                       'longest_target': 4, 'text_tokens': 30, 'unknown_tokens': 1,
                       'shards': [{'file': 'train-00000-of-00001.h5', 'bytes': 5000, 'rows': 5, 'tokens': 30,
                                   'xxh3': '0123456789abcdef'}]}],
           'options': {'history_size': -1, 'delimiter': '\n'}}
MANIFEST = {'format_version': 2, 'files': {name: {'bytes': 100, 'xxh3': '0123456789abcdef'} for name in
                                           ('model.safetensors', 'part-00000.safetensors', 'state.json')}}
OLD_MANIFEST = {'format_version': 1, 'files': {name: {'bytes': 100, 'xxh3': '0123456789abcdef'} for name in
                                               ('model.safetensors', 'optimizer.safetensors', 'state.json')}}
STATE = {'format_version': 2, 'trainer': TRAINER, 'versions': {'lockstep': '0.1.0'},
         'options': {'values': {'batchsize': '8', 'data': 'DATA'}, 'config': 'batchsize = 8\n'}}
TOKENIZER = {'tokenizer': 're', 'file': 'dictionary.txt', 'letter_case': 'lower', 'hash': '0123456789abcdef'}
PIECES = ['<unk>', '<s>', '</s>', '\u2581', 't', 'h', 'e', 'th', 'the', '\u2581the', '<0xE2>', '<0x82>', '<0xAC>', '\u0120', '\u0120t', '\u00e2', '\u0124', '\u00ac']
BPE = {'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': '', 'end_of_word_suffix': '', 'fuse_unk': False,
       'byte_fallback': False, 'ignore_merges': False, 'vocab': {piece: id for id, piece in enumerate(PIECES)},
       'merges': ['t h', 'th e', '\u2581 the', '\u0120 t']}
ADDED = [{'id': id, 'content': piece, 'single_word': id == 18, 'lstrip': id == 18, 'rstrip': id == 19, 'normalized': id > 2, 'special': id < 3}
         for id, piece in [*enumerate(PIECES[:3]), (18, 'cat'), (19, 'on')]]
BYTE_LEVEL = {'type': 'ByteLevel', 'add_prefix_space': True, 'trim_offsets': True, 'use_regex': True}
TEMPLATE = {'type': 'TemplateProcessing', 'single': [{'SpecialToken': {'id': '<s>', 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}],
            'pair': [], 'special_tokens': {'<s>': {'id': '<s>', 'ids': [1], 'tokens': ['<s>']}}}
GPT2_LIKE = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': ADDED, 'normalizer': {'type': 'NFC'},
             'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [
                 {'type': 'Split', 'pattern': {'Regex': ' ?\\p{L}+|\\s+(?!\\S)'}, 'behavior': 'MergedWithNext', 'invert': True},
                 {'type': 'Digits', 'individual_digits': True}, {'type': 'Punctuation', 'behavior': 'Contiguous'}, BYTE_LEVEL]},
             'post_processor': {'type': 'Sequence', 'processors': [BYTE_LEVEL, TEMPLATE]}, 'decoder': BYTE_LEVEL,
             'model': {**BPE, 'ignore_merges': True}}
LLAMA_LIKE = {**GPT2_LIKE, 'pre_tokenizer': {'type': 'Metaspace', 'replacement': '\u2581', 'prepend_scheme': 'first', 'split': False},
              'normalizer': {'type': 'Sequence', 'normalizers': [{'type': 'Prepend', 'prepend': '\u2581'},
                                                                 {'type': 'Replace', 'pattern': {'String': ' '}, 'content': '\u2581'}]},
              'post_processor': {'type': 'RobertaProcessing', 'sep': ['</s>', 2], 'cls': ['<s>', 1], 'trim_offsets': True, 'add_prefix_space': True},
              'decoder': {'type': 'Sequence', 'decoders': [{'type': 'Replace', 'pattern': {'String': '\u2581'}, 'content': ' '}, {'type': 'ByteFallback'},
                                                           {'type': 'Fuse'}, {'type': 'Strip', 'content': ' ', 'start': 1, 'stop': 0}]},
              'model': {**BPE, 'unk_token': '<unk>', 'fuse_unk': True, 'byte_fallback': True, 'merges': [merge.split() for merge in BPE['merges']]}}
SLURM = ('SLURM_JOB_ID=12\nSLURM_STEP_ID=0\nSLURM_PROCID=1\nSLURM_LOCALID=1\nSLURM_NTASKS=4\nSLURM_STEP_NUM_TASKS=4\n'
         'SLURM_STEP_NODELIST=n[07-08]\nSLURM_STEP_TASKS_PER_NODE=2(x2)\nSLURM_NODEID=0\n')
TORCHRUN = ('RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=n1\nMASTER_PORT=29500\n'
            'TORCHELASTIC_RUN_ID=a\n')
OPEN_MPI = ('OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1\n'
            'OMPI_COMM_WORLD_LOCAL_SIZE=2\nPMIX_RANK=1\nPMI_SIZE=4\n')
PARLAI = 'text:hello \\n you__PIPE__\tlabels:hi|hey\tepisode_done:True\ntext:a\tlabels:b\treward:1\n'
FBDIALOG = '1 your persona: i ski.\n2 hi !\thello|hey\t\ta|b\n3 and you ?\tfine\n1 new\tone\t1.0\n'
DIALOG = {'dialog': [[{'id': 'a', 'text': 'hi'}, {'id': 'b', 'text': 'hello'}], [{'id': 'a', 'text': 'bye'}]]}
MESSAGES = {'messages': [{'role': 'system', 'content': 'be kind'}, {'role': 'user', 'content': 'hi'},
                         {'role': 'assistant', 'content': [{'type': 'text', 'text': 'hello'}], 'weight': 1}]}
CONFIG = ('# a run\nbatchsize = 8   # rows\ndata = "a b\\n"\ndata = \'c\'\nlearningrate = 1e-3\nfp16 = true\n'
          'optimizer = adam\nlr_scheduler = cosine\ntruncate = -1\nseed = 7\n')


def store_frame(payload):
    return struct.pack('<I', len(payload)) + payload


def request(command, number, key, value):
    return struct.pack('<BqI', command, number, len(key)) + key + struct.pack('<I', len(value)) + value


def store_session():
    """What a rank sends in tests/fuzz/store_session.cpp: a kind, and what belongs to it."""
    ask = b''.join(struct.pack('<BBqB', 3, command, 5, 3) + b'key' + struct.pack('<H', 5) + b'value'
                   for command in (0, 1, 2, 3))
    own = request(1, 0, b'k', b'v')
    return ask + struct.pack('<BH', 2, len(own)) + own


def pretty(value):
    return json.dumps(value, indent=1).encode()


def line(value):
    return json.dumps(value).encode() + b'\n'


def shard(changes, *parts):
    return struct.pack('<B', changes) + b''.join(parts)


TALK_TEMPLATE = """{%- set ns = namespace(last=-1) %}{{ bos_token }}
{% for m in messages %}
    {%- if m.role == 'assistant' and not loop.first %}{% set ns.last = loop.index0 %}
        {%- generation %}<{{ m['role'] }}>{{ m.content | default('', true) | trim }}</s>{% endgeneration %}
    {%- elif m.content is string %}{{ '<' ~ m.role + '>\\n' }}{{ m.content.split('?')[-1][::-1] }}
    {%- else %}{{ raise_exception('No ' + m.role) }}{% endif %}
{% endfor %}{{ '<assistant>' if add_generation_prompt }}"""

TOOLS_TEMPLATE = """{# tools #}{% macro show(value, indent=0) -%}
{% for k, v in value.items() if v is defined %}{{ '  ' * indent }}{{ k | upper }}: {% if v is mapping %}
{{ show(v, indent + 1) }}{% else %}{{ v | tojson }}{% endif %}{% if loop.last %}{% break %}{% endif %}{% endfor %}
{%- endmacro %}{% set text %}{{ show(messages[-1].tool_calls[0].function.arguments) }}{% endset %}{{ text | trim }}
{% for m in messages | selectattr('content', 'none') | list %}{{ m | dictsort }}{{ range(3, 0, -1) | join('-') }}{% else %}
{%- raw %}{{ x }}{% endraw %}{% endfor %}{{ strftime_now('%d %b %Y') }}"""


def corpus():
    values = struct.pack('<4f', 1, 2, 3, 4)
    yield 'config_file', 'train', CONFIG.encode()
    yield 'config_file', 'long-name', b'ta\xe8\x81' * 1000 + b' = 1\n'
    yield 'config_file', 'prepare', b'format = jsonl\ninput = a b\nout = D\nshards = 4\ndict-lower = true\n'
    for name, adapters in ADAPTERS.items():
        yield 'adapter_config_json', name, pretty(adapters)
    for name, config in HUGGINGFACE.items():
        yield 'huggingface_config_json', name, pretty(config)
    yield 'config_json', 'generator', pretty(MODEL)
    yield 'config_json', 'gpt2', pretty({**MODEL, 'model': 'gpt2', 'positions': 'learned', 'activation': 'gelu_tanh',
                                         'variant': 'prelayernorm', 'embeddings_scale': 'none', 'excluded_token': 5})
    yield 'dataset_json', 'dialogue', pretty(DATASET)
    yield 'dictionary', 'words', b'__null__\t1000000003\n__start__\t1000000002\nthe\t12\ncat\t5\n\\n\t2\n'
    yield 'dictionary', 'specials', 'P1\t1000000004\nP2\t1000000005\n\u00e9\t3\nold\n'.encode()
    yield 'fbdialog', 'persona', FBDIALOG.encode()
    yield 'jsonl', 'dialog', line(DIALOG) * 2
    yield 'manifest_json', 'version_1', pretty(OLD_MANIFEST)
    yield 'manifest_json', 'version_2', pretty(MANIFEST)
    yield 'messages', 'chat', line(MESSAGES) * 2
    yield 'parlai_text', 'compressed', gzip.compress(PARLAI.encode(), mtime=0)
    yield 'parlai_text', 'plain', PARLAI.encode()
    yield 'pretrained_tokenizer', 'gpt2', pretty(GPT2_LIKE)
    yield 'pretrained_tokenizer', 'llama', pretty(LLAMA_LIKE)
    yield 'rank_variables', 'mpi', OPEN_MPI.encode()
    yield 'rank_variables', 'pmix', (SLURM + 'PMIX_RANK=1\nPMIX_NAMESPACE=a\nSLURM_RESTART_COUNT=1\n').encode()
    yield 'rank_variables', 'slurm', SLURM.encode()
    yield 'rank_variables', 'torchrun', TORCHRUN.encode()
    yield 'safetensors', 'checksum', safetensors({'w': ('F32', [2, 2], values)}, {'xxh3': '0123456789abcdef', 'a': 'b'})
    yield 'safetensors', 'types', safetensors({'a': ('F32', [4], values), 'b': ('BF16', [2, 4], values),
                                               'c': ('U64', [2], values), 'd': ('F32', [0], b'')})
    yield 'sentencepiece_model', 'bpe', sentencepiece_model(2)
    yield 'sentencepiece_model', 'charsmap', sentencepiece_model(1, charsmap())
    yield 'sentencepiece_model', 'nul', sentencepiece_model(1, more_words=['\0he'])
    yield 'sentencepiece_model', 'unigram', sentencepiece_model(1)
    yield 'shard', 'external-storage', bytes.fromhex(
        '0101f9645fc201020201360201' '1b01a603030300002d01970301000201021000023102a700034ab5')
    yield 'shard', 'attribute', shard(1, struct.pack('<BBBHq', 0, 0, 0, 2, 1))
    yield 'shard', 'byte', shard(0, struct.pack('<HBB', 100, 0, 1))
    yield 'shard', 'dataset', shard(1, struct.pack('<BBBBHIBBQ', 1, 0, 1, 63, 47, 4096, 4, 0, 5))
    yield 'shard', 'link', shard(1, struct.pack('<BBBB', 2, 0, 2, 0))
    yield 'shard', 'resized', shard(1, struct.pack('<BBH', 5, 0, 40))
    yield 'shard', 'virtual', bytes.fromhex('010100013f2f0000100000030104000500000000000000')
    yield 'shard', 'value', shard(1, struct.pack('<BBHQ', 3, 1, 2, 1 << 40))
    yield 'slurm_nodes', 'nodes', b'n[07-09,12],m1'
    yield 'slurm_nodes', 'racks', b'rack[1-2]n[3-4]'
    yield 'slurm_nodes', 'tasks', b'4(x2),3'
    yield 'state_json', 'state', pretty(STATE)
    yield 'store_frames', 'frames', b'\7' + store_frame(request(2, 1000, b'key', b'')) + store_frame(b'\1' + bytes(12))
    yield 'store_frames', 'rank', b'\1' + store_session()
    yield 'store_frames', 'stranger', b'\0' + struct.pack('<BH', 1, 64) + bytes(64)
    yield 'template', 'talk', TALK_TEMPLATE.encode()
    yield 'template', 'tools', TOOLS_TEMPLATE.encode()
    yield 'tokenizer_json', 're', pretty(TOKENIZER)
    yield 'watch_record', 'late', '\x1e'.join([rank_record(1, waiting=1, still=400000), rank_record(2, still=400000)]).encode()
    yield 'watch_record', 'pace', '\x1e'.join([rank_record(1), rank_record(2), rank_record(3, us=9900000)]).encode()
    yield 'watch_record', 'verdict', b'1 stuck'


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')
    for target, name, content in corpus():
        os.makedirs(os.path.join(root, target), exist_ok=True)
        with open(os.path.join(root, target, name), 'wb') as file:
            file.write(content)


if __name__ == '__main__':
    main()

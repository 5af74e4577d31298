# SPDX-License-Identifier: Apache-2.0
"""Prints moment_map_golden.hpp: the shares of codes that bitsandbytes' create_dynamic_map() makes.

Run with bitsandbytes and PyTorch: python make_moment_map_golden.py > moment_map_golden.hpp
"""
from bitsandbytes.functional import create_dynamic_map

print('''// SPDX-License-Identifier: Apache-2.0
// Written by make_moment_map_golden.py.
#pragma once

#include <array>

namespace lockstep::tests::goldens {
''')
for name, signed in (('signed_map', True), ('unsigned_map', False)):
    values = ', '.join(f'{value:.9g}' for value in create_dynamic_map(signed=signed).tolist())
    print(f'constexpr std::array<double, 256> {name}{{{values}}};')
print('''
}  // namespace lockstep::tests::goldens''')

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lockstep::data {

// Returns true if the tables of characters in a serialised SentencePiece model lead to no place
// outside of themselves. The library follows these tables, which replace characters before a text
// is split, without looking at their bounds. Whether the rest is a model is for the library to say.
//
// A table is precompiled_charsmap of NormalizerSpec in sentencepiece_model.proto: the size of a
// double array of Darts-clone, the array in units of 32 bits, and texts that end with NUL.
bool charsmaps_are_sound(std::string_view model);

// Returns true if the model replaces characters, for example full-width ones, or removes spaces.
bool model_normalizes(std::string_view model);

}  // namespace lockstep::data

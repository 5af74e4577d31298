// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "data/text/text_chunks.hpp"

namespace lockstep::data {

// Plain text for a language model. `text` gets runs of whole lines, line feeds included;
// `document_end` is called where a document ends: with its file, or also at blank lines, which are
// left out then.
void read_plain_text(const TextChunk& chunk, Documents documents,
                     const std::function<void(std::string_view)>& text,
                     const std::function<void()>& document_end);

}  // namespace lockstep::data

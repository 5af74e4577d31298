// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"

namespace lockstep::data {

// Reads plain text for a language model. `text` gets runs of whole lines including line feeds.
// `document_end` is called at the end of each document: at the end of the file, or also at blank
// lines, which are then left out. It warns of a file that looks like one of another format.
void read_plain_text(const TextChunk& chunk, Documents documents, Warnings& warnings,
                     const std::function<void(std::string_view)>& text,
                     const std::function<void()>& document_end);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"

namespace lockstep::data {

// Tells whether these files begin with an object {"text": ...} that is no conversation, also as the
// first element of an array. Throws as ChunkReader does, and a config error if only some do.
bool hold_json_texts(const std::vector<std::string>& paths);

// Reads documents for a language model: plain text as read_plain_text() does, or a document in each
// line {"text": ...}, whose text is handed on as it is. A line of another form is a data error.
void read_documents(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                    const std::function<void(std::string_view)>& text,
                    const std::function<void()>& document_end);

}  // namespace lockstep::data

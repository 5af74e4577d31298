// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Keeps the weights, metrics and report in a model folder that has no checkpoint, because a run
// that begins there replaces them: model.safetensors gets a second name,
// model-before-1.safetensors, so that the folder has weights at any time; metrics.jsonl and
// report.json are renamed to metrics-before-1.jsonl and report-before-1.json. The next numbers
// follow. Returns the new names, and an empty text if there is nothing to keep. Throws
// SystemFailure. The caller has the folder's lock.
std::string keep_earlier_files(const std::string& folder);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher::checkpoints {

// complete: the manifest, the state and the sizes of all files fit; the bytes were not read.
// damaged: they do not fit. set_aside: a run has found it damaged and renamed it. unfinished: a
// save or a removal did not come to its end. unreadable: of a newer format, or the system refuses.
enum class ListedState { complete, damaged, set_aside, unfinished, unreadable };
const char* name(ListedState state) noexcept;

// Describes one entry of MODEL/checkpoints. Numbers are 0 where they are not known.
struct ListedCheckpoint {
    std::string name;
    ListedState state = ListedState::complete;
    std::string problem;  // why it is damaged or unreadable
    std::int64_t step = 0, updates = 0;
    double epochs = 0;
    std::int64_t format = 0;
    int parts = 0;                     // files with the optimizer's tensors
    std::uint64_t bytes = 0;           // of all files
    std::string saved;                 // UTC
    std::vector<std::string> kept_by;  // options because of which it stays; empty: it may go
};

// Describes model.safetensors, or the files that its index names.
struct ListedModel {
    std::string file;  // its name, or that of the index
    std::uint64_t bytes = 0;
    std::string saved;  // UTC
    // The best value of the validation metric so far, by the newest checkpoint.
    std::optional<double> best;
    std::string metric;
};

struct Listing {
    std::string folder;
    std::vector<ListedCheckpoint> checkpoints;  // newest first
    std::optional<ListedModel> model;
    std::string writer;  // the run that has the folder, by its lock; empty: none
    std::string ended;   // the run that left its lock behind and has surely ended; empty: none
};

// Looks at a model folder without reading the tensors, changes nothing and takes no lock. Entries
// that go meanwhile are left out. Throws kind config if it is no model folder.
Listing list_checkpoints(const std::string& model_folder);

std::string text(const Listing& listing);
std::string json_text(const Listing& listing);

}  // namespace lockstep::launcher::checkpoints

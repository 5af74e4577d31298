// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace lockstep::launcher {

// Names an option that may have another value on each rank, and says why.
struct PerRankOption {
    const char* name;
    const char* reason;
};
std::span<const PerRankOption> per_rank_options() noexcept;

// Holds a value that has to be the same on all ranks. `absolute` holds paths as they are from the
// root of the file system, and is empty for other options.
struct ComparedValue {
    std::string text;
    std::string absolute;
    bool given = false;  // by the user, and not only a default
};

// Holds the options of a run that all ranks have to agree in, by their names.
using ComparedOptions = std::map<std::string, ComparedValue>;

// Returns those of `values` (option_values()) that are not per_rank_options(). `given` names the
// options that the user gave.
ComparedOptions compared_options(const std::map<std::string, std::string>& values,
                                 const std::set<std::string>& given);

// Writes the options as text, in the order of their names, and reads them again. Throws kind peer
// for any other text.
std::string to_text(const ComparedOptions& options);
ComparedOptions compared_options_from(const std::string& text);

// Returns the first option in which the two differ; one that was given, if there is any, because
// others may follow from it. Equal words are equal, and so are paths that name the same folder from
// where each rank was started.
std::optional<std::string> first_difference(const ComparedOptions& one,
                                            const ComparedOptions& other);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockstep::launcher {

class OptionTable;

// Holds a value that has to be the same on all ranks. `absolute` holds paths as they are from the
// root of the file system, and is empty for other options.
struct ComparedValue {
    std::string text;
    std::string absolute;
    bool given = false;  // by the user, and not only a default
};

// Holds the options of a run that all ranks have to agree in, by their names.
using ComparedOptions = std::map<std::string, ComparedValue>;

// Returns the options that may not have another value on each rank. The tables show their values as
// the options' defaults. `given` names the options that the user gave.
ComparedOptions compared_options(const std::vector<OptionTable>& tables,
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

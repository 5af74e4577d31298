// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Clears the variables of launchers: tests define how their ranks were started, but may themselves
// run in a job of Slurm or MPI.
void forget_other_jobs() {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
        for (const char* prefix : {"SLURM_", "PMIX_", "PMI_", "OMPI_COMM_WORLD_", "TORCHELASTIC_",
                                   "LOCAL_", "MASTER_", "LOCKSTEP_"}) {
            if (name.starts_with(prefix)) names.push_back(name);
        }
    }
    names.insert(names.end(), {"RANK", "WORLD_SIZE"});
    for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    forget_other_jobs();
    return doctest::Context(argc, argv).run();
}

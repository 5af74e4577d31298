// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/rank_info.hpp"

#include <unistd.h>

#include <array>
#include <string>

#include "runtime/comm/environment/address_text.hpp"
#include "runtime/comm/environment/other_launchers.hpp"
#include "runtime/comm/environment/slurm_variables.hpp"
#include "runtime/comm/environment/variables.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

RankInfo from_flags(const RankFlags& flags) {
    if (!flags.rank || !flags.size) {
        refuse_environment(
            "--rank and --world-size come together: give both, or neither to let the "
            "environment tell");
    }
    RankInfo rank_info;
    rank_info.source = RankSource::flags;
    rank_info.rank = *flags.rank;
    rank_info.size = *flags.size;
    if (!flags.master_addr && rank_info.size > 1) {
        refuse_environment("--rank needs --master-addr HOST, the host of rank 0");
    }
    rank_info.local_rank = flags.local_rank.value_or(0);
    rank_info.local_rank_known = flags.local_rank.has_value() || rank_info.size == 1;
    rank_info.local_size = flags.local_size.value_or(rank_info.local_rank + 1);
    rank_info.local_size_known = flags.local_size.has_value() || rank_info.size == 1;
    rank_info.master_addr = flags.master_addr.value_or("");
    rank_info.master_port = flags.master_port.value_or(default_master_port);
    return checked_rank_info(rank_info, "the command line");
}

// torchrun starts at least one rank in each task of a step. Variables that a job script exports
// itself would start the same rank in all of them. A shell that is a task starts what it likes.
void check_against_step(const RankInfo& rank_info, const Variables& variables) {
    if (!in_slurm_step(variables) || typed_into_task(variables)) return;
    const int tasks = slurm_size(variables);
    const auto task = variables.number("SLURM_PROCID");
    const bool by_hand = !variables.has("TORCHELASTIC_RUN_ID");
    const bool other_rank = by_hand && rank_info.size == tasks && task && *task != rank_info.rank;
    if (rank_info.size >= tasks && !other_rank) return;
    refuse_environment("RANK " + std::to_string(rank_info.rank) + " of WORLD_SIZE " +
                       std::to_string(rank_info.size) +
                       " contradicts the Slurm step, where this is task " +
                       std::to_string(task.value_or(0)) + " of " + std::to_string(tasks) +
                       ": unset RANK and WORLD_SIZE, and srun alone tells the ranks");
}

// PyTorch's env:// does without LOCAL_RANK, as Kubernetes' PyTorchJob does.
void add_local_rank(RankInfo& rank_info, const Variables& variables, const RankFlags& flags) {
    auto local_rank = variables.number("LOCAL_RANK");
    const auto local_size = variables.number("LOCAL_WORLD_SIZE");
    if (!local_rank) local_rank = flags.local_rank;
    if (!local_rank && (rank_info.size == 1 || local_size == 1)) local_rank = 0;
    if (!local_rank && local_size == rank_info.size) local_rank = rank_info.rank;
    rank_info.local_rank_known = local_rank.has_value();
    rank_info.local_rank = local_rank.value_or(0);
    rank_info.local_size = local_size.value_or(rank_info.local_rank + 1);
    rank_info.local_size_known = local_size.has_value();
}

void add_torchrun_master(RankInfo& rank_info, const Variables& variables) {
    const auto address = variables.find("MASTER_ADDR");
    const bool alone = rank_info.size == 1;
    if (!address && !alone)
        refuse_environment(
            "MASTER_ADDR is missing from the environment, although RANK is set: set it to the host "
            "of rank 0, or unset RANK");
    if (address) rank_info.master_addr = host_of_address({"MASTER_ADDR=", "MASTER_PORT"}, *address);
    const int port = variables.number("MASTER_PORT").value_or(default_master_port);
    if (port > 65535 || (port == 0 && !alone))
        refuse_environment("MASTER_PORT=" + std::to_string(port) +
                           (port == 0 ? ": the other ranks cannot know which port is free: give one"
                                      : ": ports go from 1 to 65535"));
    // torchrun's own agent listens on MASTER_PORT.
    rank_info.master_port = store_port_beside(port);
}

RankInfo from_torchrun(const Variables& variables, const RankFlags& flags) {
    RankInfo rank_info;
    rank_info.source = RankSource::torchrun;
    rank_info.rank = variables.needed("RANK", "");
    rank_info.size =
        variables.needed("WORLD_SIZE", "RANK is set: set it to the number of ranks, or unset RANK");
    add_local_rank(rank_info, variables, flags);
    add_torchrun_master(rank_info, variables);
    // The number of the attempt is left out: torchrun's agents on two nodes may count differently.
    if (const auto run = variables.find("TORCHELASTIC_RUN_ID")) rank_info.job = *run;
    check_against_step(rank_info, variables);
    return checked_rank_info(rank_info, "the environment (RANK, WORLD_SIZE, LOCAL_RANK)");
}

RankInfo from_open_mpi(const Variables& variables) {
    const std::string because = "mpirun started this process";
    RankInfo rank_info;
    rank_info.source = RankSource::mpi;
    rank_info.rank = variables.needed("OMPI_COMM_WORLD_RANK", because);
    rank_info.size = variables.needed("OMPI_COMM_WORLD_SIZE", because);
    rank_info.local_rank = variables.needed("OMPI_COMM_WORLD_LOCAL_RANK", because);
    rank_info.local_size = variables.needed("OMPI_COMM_WORLD_LOCAL_SIZE", because);
    return checked_rank_info(rank_info, "mpirun's environment");
}

// Under srun --mpi=pmix, PMIx gives the rank and the Slurm step gives the rest, including the
// address of the store in case the MPI library does not understand this PMIx.
RankInfo from_pmix(const Variables& variables) {
    if (!in_slurm_step(variables)) {
        refuse_environment(
            "PMIX_RANK is set, but neither mpirun's nor Slurm's variables are: start the ranks "
            "by mpirun or srun, or give --rank, --world-size and --master-addr");
    }
    RankInfo rank_info = rank_info_from_slurm(variables);
    rank_info.source = RankSource::mpi;
    if (rank_info.rank != variables.needed("PMIX_RANK", "PMIX_NAMESPACE is set")) {
        refuse_environment(
            "PMIX_RANK and SLURM_PROCID differ: unset the one that is left over from an outer "
            "job");
    }
    return rank_info;
}

// Half of torchrun's variables are often left over in a shell.
void refuse_half(const Variables& variables) {
    for (const char* name : {"WORLD_SIZE", "LOCAL_RANK"}) {
        const int alone = name == std::string("WORLD_SIZE") ? 1 : 0;
        if (variables.number(name).value_or(alone) == alone) continue;
        refuse_environment(std::string(name) +
                           " is set in the environment, but RANK is not: start the ranks by "
                           "torchrun, set RANK for each rank, or unset " +
                           name);
    }
}

void check_local_rank(const RankInfo& rank_info, const RankFlags& flags) {
    if (!flags.local_rank || *flags.local_rank == rank_info.local_rank) return;
    const std::string given = "--local-rank " + std::to_string(*flags.local_rank);
    if (rank_info.source == RankSource::alone)
        refuse_environment(given +
                           ": no launcher has started this process as one of several ranks (RANK, "
                           "WORLD_SIZE, MASTER_ADDR and MASTER_PORT are not set): leave it out");
    const bool by_variable = rank_info.source == RankSource::torchrun;
    refuse_environment(given + " contradicts " + name(rank_info.source) + ", which says " +
                       (by_variable ? "LOCAL_RANK=" : "") + std::to_string(rank_info.local_rank) +
                       ": leave it out");
}

void take_master(const RankFlags& flags, RankInfo& rank_info) {
    if (flags.master_addr)
        rank_info.master_addr =
            host_of_address({"--master-addr ", "--master-port"}, *flags.master_addr);
    if (flags.master_port) rank_info.master_port = *flags.master_port;
    if (!rank_info.master_addr.empty() && rank_info.master_port == 0)
        rank_info.master_port = default_master_port;
}

// Reads the variables of the first launcher that has set some.
RankInfo from_environment(const Variables& variables, const RankFlags& flags) {
    if (variables.has("RANK")) return from_torchrun(variables, flags);
    if (variables.has("OMPI_COMM_WORLD_RANK")) return from_open_mpi(variables);
    if (variables.has("PMIX_RANK")) return from_pmix(variables);
    refuse_other_launchers(variables);
    if (in_slurm_step(variables)) return rank_info_from_slurm(variables);
    if (in_slurm_job_without_step(variables))
        refuse_environment(
            "this is a Slurm job, but not a step of it: type srun before the command, one task "
            "for each rank (srun lockstep distributed_train ...), or use train for one rank");
    refuse_half(variables);
    return alone();
}

}  // namespace

const char* name(RankSource source) noexcept {
    switch (source) {
        case RankSource::flags:
            return "flags";
        case RankSource::torchrun:
            return "torchrun";
        case RankSource::mpi:
            return "mpi";
        case RankSource::slurm:
            return "slurm";
        case RankSource::alone:
            return "alone";
    }
    return "unknown";
}

std::string host_name() {
    std::array<char, 256> text{};
    if (::gethostname(text.data(), text.size() - 1) != 0) return "localhost";
    return text.data();
}

RankInfo alone() {
    RankInfo rank_info;
    rank_info.host = host_name();
    return rank_info;
}

RankInfo find_rank_info(const Environment& environment, const RankFlags& flags) {
    RankInfo rank_info;
    if (flags.rank || flags.size) {
        rank_info = from_flags(flags);
    } else {
        rank_info = from_environment(Variables(environment), flags);
        check_local_rank(rank_info, flags);
    }
    take_master(flags, rank_info);
    return rank_info;
}

}  // namespace lockstep::comm

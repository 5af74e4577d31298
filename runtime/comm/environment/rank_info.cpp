// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/rank_info.hpp"

#include <unistd.h>

#include <array>

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
    rank_info.local_size = flags.local_size.value_or(1);
    rank_info.local_rank = flags.local_rank.value_or(0);
    rank_info.master_addr = flags.master_addr.value_or("");
    rank_info.master_port = flags.master_port.value_or(default_master_port);
    return checked_rank_info(rank_info, "the command line");
}

// torchrun starts at least one rank in each task of a step. Variables that a job script exports
// itself would start the same rank in all of them.
void check_against_step(const RankInfo& rank_info, const Variables& variables) {
    if (!in_slurm_step(variables)) return;
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

RankInfo from_torchrun(const Variables& variables) {
    const std::string because = "RANK is set: unset RANK, or start the ranks by torchrun";
    RankInfo rank_info;
    rank_info.source = RankSource::torchrun;
    rank_info.rank = variables.needed("RANK", because);
    rank_info.size = variables.needed("WORLD_SIZE", because);
    rank_info.local_rank = variables.needed("LOCAL_RANK", because);
    const std::string* address = variables.find("MASTER_ADDR");
    if (address == nullptr && rank_info.size > 1) {
        refuse_environment("MASTER_ADDR is missing from the environment, although " + because);
    }
    if (address != nullptr) rank_info.master_addr = *address;
    // torchrun's own agent listens on MASTER_PORT.
    rank_info.master_port = variables.number("MASTER_PORT").value_or(default_master_port) + 1;
    const auto local_size = variables.number("LOCAL_WORLD_SIZE");
    rank_info.local_size = local_size.value_or(rank_info.local_rank + 1);
    rank_info.local_size_known = local_size.has_value();
    // The number of the attempt is left out: torchrun's agents on two nodes may count differently.
    if (const std::string* run = variables.find("TORCHELASTIC_RUN_ID")) rank_info.job = *run;
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

// The mpirun of MPICH and Intel MPI sets other variables than Open MPI's.
bool started_by_other_mpi(const Variables& variables) {
    return variables.number("PMI_SIZE").value_or(1) > 1 && !in_slurm_step(variables);
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
    const Variables variables(environment);
    RankInfo rank_info = alone();
    if (flags.rank || flags.size) return from_flags(flags);
    if (variables.has("RANK")) {
        rank_info = from_torchrun(variables);
    } else if (variables.has("OMPI_COMM_WORLD_RANK")) {
        rank_info = from_open_mpi(variables);
    } else if (variables.has("PMIX_RANK")) {
        rank_info = from_pmix(variables);
    } else if (started_by_other_mpi(variables)) {
        refuse_environment(
            "another MPI's mpirun started this (PMI_SIZE is set): use Open MPI's mpirun, srun, or "
            "torchrun; one of " +
            *variables.find("PMI_SIZE") + " separate runs is not what was meant");
    } else if (in_slurm_step(variables)) {
        rank_info = rank_info_from_slurm(variables);
    } else if (in_slurm_job_without_step(variables)) {
        refuse_environment(
            "this is a Slurm job, but not a step of it: type srun before the command, one task "
            "for each rank (srun lockstep distributed_train ...), or use train for one rank");
    } else if (variables.has("WORLD_SIZE") && variables.number("WORLD_SIZE") != 1) {
        refuse_environment(
            "WORLD_SIZE is set in the environment, but RANK is not: start the ranks by "
            "torchrun, or unset WORLD_SIZE");
    }
    if (flags.local_rank && *flags.local_rank != rank_info.local_rank) {
        refuse_environment("--local-rank " + std::to_string(*flags.local_rank) + " contradicts " +
                           name(rank_info.source) + ", which says " +
                           std::to_string(rank_info.local_rank) + ": leave it out");
    }
    if (flags.master_addr) rank_info.master_addr = *flags.master_addr;
    if (flags.master_port) rank_info.master_port = *flags.master_port;
    if (!rank_info.master_addr.empty() && rank_info.master_port == 0) {
        rank_info.master_port = default_master_port;
    }
    return rank_info;
}

}  // namespace lockstep::comm

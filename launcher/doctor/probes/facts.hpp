// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/host/host_facts.hpp"
#include "launcher/rank/core_limits.hpp"
#include "model/tensor_core_shapes.hpp"

// The doctor's facts are plain values. Separate parts collect, judge and print them.
namespace lockstep::launcher::doctor {

struct Libraries {
    std::string lockstep, products, mpi, nccl;  // versions; "none"
};

// Describes a CUDA library as this process finds it.
struct CudaPart {
    std::string version, file;
    std::string problem;  // why it cannot be opened; empty: it can
};

// Describes the software that computing on GPUs needs besides the hardware. CUDA versions are
// numbers: 12020 is 12.2.
struct GpuSoftware {
    int build = 0;        // CUDA version of the build; 0: built without CUDA
    std::string targets;  // targets of the build, as in device::CudaBuild
    int driver = 0;       // the newest CUDA version that the driver supports; 0: no driver
    CudaPart cublas_lt, cudnn, nccl;
    std::string glibc;
};

// A rank knows these facts without the others.
struct RankFacts {
    int rank = 0, local_rank = 0, local_size = 1;
    std::string host, source;  // source: where it learned its rank
    std::string address;       // the address at which other ranks reach it; empty: alone
    int probe_port = 0;        // the port that answers the other hosts' probes
    std::int64_t threads = 0;  // threads that the run asks for; 0: its share of the cores
    Processor processor;
    std::vector<CoreLimit> core_limits;  // besides the binding
    Memory memory;
    Limits limits;
    std::vector<Interface> interfaces;
    std::int64_t infiniband_devices = 0;
    std::string gpu_direct = "none";  // path of InfiniBand devices to GPU memory
    GpuHost gpu_host;
    std::string cuda_visible_devices;  // "all": the variable is not set
    std::vector<int> visible_gpus;     // indices, in the rank's own order
    Libraries libraries;
    GpuSoftware software;
};

// Describes another host as a rank sees it in the name service.
struct Lookup {
    std::string host;
    std::vector<std::string> addresses;       // addresses of the name
    std::string name;                         // name of its address; empty: none
    std::vector<std::string> name_addresses;  // addresses of that name
    std::string problem;                      // empty: the name resolved
};

struct Probe {
    std::string host, address;  // the other end
    std::string problem;        // empty: reached
    double round_trip_s = 0;
    double clock_ahead_s = 0;  // lead of the other host's clock
};

struct ShardFacts {
    std::string file;
    std::string problem;  // empty: no error in the `rows_read` rows
    bool missing = false;
    std::int64_t rows = 0, rows_read = 0;
    std::string hash;  // hash of the rows that were read
};

// A rank observes this of the network, the data and the output folder.
struct RankObservations {
    int rank = 0;
    std::vector<Lookup> lookups;
    std::vector<Probe> probes;
    std::string data_problem, data_hash;  // the folder as a whole
    std::string data_warning;             // what a run does not need
    std::vector<ShardFacts> shards;       // the shards that this rank reads
    std::string folder_problem;           // why it cannot see what rank 0 wrote; empty: it can
};

// Describes the output folder as rank 0 sees it.
struct FolderFacts {
    std::string path, existing;  // the given path; its nearest existing folder
    std::string problem;
    std::int64_t free_bytes = 0, checkpoints_bytes = 0;  // 0: not asked for, or not known
    double write_bytes_per_s = 0;
};

// Holds the rates between two ranks in bytes per second that cross the link in one direction.
// `link` is a plain TCP stream (a copy in memory when both ranks are on one host), `all_reduce` an
// all-reduce of the two.
struct PairRate {
    int first = 0, second = 0;
    double link = 0, all_reduce = 0;
};

// Tells which ranks share a replica, and what each of them sends in a step.
struct SharedReplicas {
    int stage = 0, ranks = 1;  // of --zero; ranks: that share one replica
    // Bytes among the ranks of a replica, and between replicas; 0: not known, or nothing.
    std::int64_t weights_bytes = 0, gradients_bytes = 0, replicas_bytes = 0;
};

enum class Computes { on_cpu, on_gpu };

struct Facts {
    int size = 1;
    std::string problem;  // an error in the request itself, found before the examination
    std::string data;     // requested folders; empty: none
    FolderFacts folder;
    // Each rank needs at least this memory on its host and on its GPU; 0: not known.
    std::int64_t training_bytes = 0, gpu_bytes = 0;
    Computes computes = Computes::on_cpu;
    SharedReplicas shared;
    std::vector<model::SlowShape> slow_shapes;  // in the requested precision
    std::vector<RankFacts> ranks;               // the ranks that have come, ascending
    std::vector<RankObservations> sights;       // observations of the same ranks
    std::vector<PairRate> pairs;
    double ring = 0;           // bytes per second over each link of the ring of all ranks
    std::string not_measured;  // why there are no rates
    bool cannot_compute_together = false;  // the communicator fails: no rates
};

}  // namespace lockstep::launcher::doctor

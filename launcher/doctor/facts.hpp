// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/host/host_facts.hpp"
#include "model/tensor_core_shapes.hpp"

// What the doctor sees, as plain values: gathered by one part, judged by another, printed by a
// third.
namespace lockstep::launcher::doctor {

struct Libraries {
    std::string lockstep, products, mpi, nccl;  // versions; "none"
};

// A library of CUDA's, as this process finds it.
struct CudaPart {
    std::string version, file;
    std::string problem;  // why it does not open; empty: it does
};

// What computing on GPUs takes beside a GPU. Versions of CUDA: 12020 is 12.2.
struct GpuSoftware {
    int build = 0;        // CUDA that this program is built with; 0: without
    std::string targets;  // for which, as device::CudaBuild has them
    int driver = 0;       // the newest CUDA that it serves; 0: there is none
    CudaPart cublas_lt, cudnn, nccl;
    std::string glibc;
};

// What a rank knows without the others.
struct RankFacts {
    int rank = 0, local_rank = 0, local_size = 1;
    std::string host, source;  // source: who told it its place
    std::string address;       // by which the other ranks reach it; empty: alone
    int probe_port = 0;        // where it answers the other hosts' probes
    std::int64_t threads = 0;  // that the run asks for; 0: its share of the cores
    Processor processor;
    Memory memory;
    Limits limits;
    std::vector<Interface> interfaces;
    std::int64_t infiniband_devices = 0;
    std::string gpu_direct = "none";  // what lets those reach GPUs' memory
    GpuHost gpu_host;
    std::string cuda_visible_devices;  // "all" where the variable is not set
    std::vector<int> visible_gpus;     // indices, in the rank's own order
    Libraries libraries;
    GpuSoftware software;
};

// How a rank sees another host.
struct Lookup {
    std::string host;
    std::vector<std::string> addresses;       // of the name
    std::string name;                         // of the address by which it is reached; empty: none
    std::vector<std::string> name_addresses;  // of that name in turn
    std::string problem;                      // empty: it resolved
};

struct Probe {
    std::string host, address;  // of the other end
    std::string problem;        // empty: reached
    double round_trip_s = 0;
    double clock_ahead_s = 0;  // of the other host's clock
};

struct ShardFacts {
    std::string file;
    std::string problem;  // empty: as good as `rows_read` rows tell
    bool missing = false;
    std::int64_t rows = 0, rows_read = 0;
    std::string hash;  // of what was read
};

// What a rank saw of the network, the data and the output folder.
struct RankObservations {
    int rank = 0;
    std::vector<Lookup> lookups;
    std::vector<Probe> probes;
    std::string data_problem, data_hash;  // of the folder as a whole
    std::vector<ShardFacts> shards;       // this rank's part of them
    std::string folder_problem;           // why it does not see what rank 0 wrote; empty: it does
};

// The output folder as rank 0 sees it.
struct FolderFacts {
    std::string path, existing;  // as asked for; the nearest one that is there
    std::string problem;
    std::int64_t free_bytes = 0, checkpoints_bytes = 0;  // 0: not asked for, or not known
    double write_bytes_per_s = 0;
};

// Bytes per second between two ranks: of a plain TCP stream (of a copy in memory on one host), and
// of an all-reduce, each as bytes that cross the link in one direction.
struct PairRate {
    int first = 0, second = 0;
    double link = 0, all_reduce = 0;
};

enum class Computes { on_cpu, on_gpu };

struct Facts {
    int size = 1;
    std::string problem;  // with what was asked for, before anything was looked at
    std::string data;     // folders asked for; empty: none
    FolderFacts folder;
    // That each rank needs at least, of its host and of its GPU; 0: not known.
    std::int64_t training_bytes = 0, gpu_bytes = 0;
    Computes computes = Computes::on_cpu;
    std::vector<model::SlowShape> slow_shapes;  // of the model, in the precision asked for
    std::vector<RankFacts> ranks;               // those that have come, ascending
    std::vector<RankObservations> sights;       // by the same ranks
    std::vector<PairRate> pairs;
    double ring = 0;           // bytes per second over each link of the ring of all ranks
    std::string not_measured;  // why there are no rates
    bool cannot_compute_together = false;  // and that is why: their communicator fails
};

}  // namespace lockstep::launcher::doctor

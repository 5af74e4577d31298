// SPDX-License-Identifier: Apache-2.0
// A fault is planted into sound facts. It must be the only finding, and say where it is and what to
// do.
#include "tests/launcher/doctor/planted_fault.hpp"

using namespace lockstep::tests;

TEST_CASE("what GPUs need beside themselves: driver, kernels, CUDA's libraries") {
    const auto first = [](auto change) {
        return [change](Facts& facts) { change(facts.ranks[0]); };
    };
    const std::string where = "rank 0 on n1";
    found(Severity::breaks, "every rank on n1, n2",
          "the NVIDIA driver serves CUDA 12.4 at most, and this program is built with CUDA 13.0",
          [](Facts& facts) {
              for (RankFacts& one : facts.ranks) one.software.build = 13000;
          });
    found(Severity::breaks, where, "H100 has compute capability 7.5",
          first([](RankFacts& one) { one.gpu_host.gpus[0].compute_capability = 75; }));
    found(Severity::breaks, where, "was built without CUDA",
          first([](RankFacts& one) { one.software.build = 0; }));
    const CudaPart missing{"", "", "libcublasLt.so.12 is not there"};
    found(Severity::warns, where, "has no cuDNN: attention by own kernels",
          first([&](RankFacts& one) { one.software.cudnn = missing; }));
    Facts alone = sound_facts(1, 1);
    alone.ranks[0].software.cublas_lt = missing;
    found(Severity::breaks, where, "has no cuBLASLt", alone);
    alone.computes = Computes::on_cpu;
    CHECK_FALSE(would_break(judge(alone)));
}

TEST_CASE("GPUs: two ranks on one, none, too few, a list that names what is not there") {
    found(Severity::breaks, "rank 2, 3 on n2", "share GPU 1 (H100, GPU-n2-1", [](Facts& facts) {
        for (int rank : {2, 3}) facts.ranks[rank].visible_gpus = {1};
    });
    found(Severity::breaks, "rank 3 on n2", "has no GPU: no NVIDIA driver", [](Facts& facts) {
        facts.ranks[3].gpu_host = {"no NVIDIA driver", "", "", {}, {}};
        facts.ranks[3].visible_gpus.clear();
    });
    Facts few = sound_facts(1, 3);
    for (auto& one : few.ranks) one.visible_gpus = {0, 1};
    found(Severity::breaks, "rank 0, 2 on n1", "share GPU 0", few);  // by Slurm they might not
    for (auto& one : few.ranks) one.source = "torchrun";
    found(Severity::breaks, "rank 2 on n1", "2 are visible to it, for 3 ranks", few);
    found(Severity::breaks, "rank 0 on n1",
          "CUDA_VISIBLE_DEVICES=0,9 names a GPU that is not there", [](Facts& facts) {
              facts.ranks[0].cuda_visible_devices = "0,9";
              facts.ranks[0].visible_gpus = {0};
          });
    found(Severity::warns, "rank 2, 3 on n2", "GPUs 0 and 1 (SYS) cannot reach each other's memory",
          [](Facts& facts) {
              for (RankFacts& one : facts.ranks)
                  one.gpu_host.links = {{0, 1, "SYS", one.host == "n1"}};
          });
    found(Severity::warns, "rank 2, 3 on n2", "see one GPU each, and not each other's",
          [](Facts& facts) {
              for (int rank : {2, 3}) {
                  RankFacts& one = facts.ranks[rank];
                  one.gpu_host.gpus = {one.gpu_host.gpus[static_cast<std::size_t>(rank - 2)]};
                  one.gpu_host.gpus[0].index = 0;
                  one.gpu_host.links.clear();
                  one.visible_gpus = {0};
              }
          });
    Facts parts = sound_facts(1, 2);  // of one GPU that MIG has cut
    for (RankFacts& one : parts.ranks) {
        one.cuda_visible_devices = "MIG-" + std::to_string(one.rank);
        one.visible_gpus = {0};
    }
    found(Severity::warns, "every rank on n1", "have parts of one GPU (GPU-n1-0)", parts);
    for (RankFacts& one : parts.ranks) one.visible_gpus = {one.rank};  // of a GPU each
    CHECK(text_of(judge(parts)).empty());
    Facts unused = sound_facts(1, 1);
    unused.computes = Computes::on_cpu;
    CHECK(text_of(judge(unused)) ==
          "notes n1: has 1 GPU, which this run does not use: it computes on the CPU; \n");
}

TEST_CASE("GPUs: unlike ones, and what keeps NCCL or the network away") {
    found(Severity::warns, "rank 2, 3 on n2", "has an A100, others an H100", [](Facts& facts) {
        for (int rank : {2, 3})
            for (Gpu& gpu : facts.ranks[rank].gpu_host.gpus) gpu.name = "A100";
    });
    found(Severity::warns, "rank 2, 3 on n2", "has no NCCL: all ranks' gradients",
          [](Facts& facts) {
              for (int rank : {2, 3}) facts.ranks[rank].libraries.nccl = "none";
          });
    Facts alone = sound_facts(1, 1);
    alone.ranks[0].libraries.nccl = "none";
    CHECK(judge(alone).empty());

    const auto near = [](Facts& facts, const std::string& path) {
        for (RankFacts& one : facts.ranks) {
            one.infiniband_devices = 2;
            one.gpu_direct = "nvidia_peermem";
            for (Gpu& gpu : one.gpu_host.gpus) {
                gpu.network = "mlx5_0";
                gpu.network_path = path;
            }
        }
    };
    for (const std::string path : {"PIX", "PXB"}) {
        Facts sound = sound_facts();
        near(sound, path);
        CHECK(text_of(judge(sound)).empty());
    }
    found(Severity::warns, "every rank on n1, n2", "has no nvidia_peermem module",
          [&](Facts& facts) {
              near(facts, "PIX");
              for (RankFacts& one : facts.ranks) one.gpu_direct = "none";
          });
    found(Severity::notes, "every rank on n1, n2", "(mlx5_0 is at NODE)",
          [&](Facts& facts) { near(facts, "NODE"); });
    Facts one_host = sound_facts(1, 2);  // nothing goes through the network
    near(one_host, "SYS");
    CHECK(text_of(judge(one_host)).empty());
}

TEST_CASE("a GPU that is too small for the run") {
    const Plant small = [](Facts& facts) {
        facts.gpu_bytes = std::int64_t{40} << 30;
        facts.ranks[3].gpu_host.gpus[1].bytes = std::int64_t{24} << 30;
    };
    found(Severity::breaks, "rank 3 on n2",
          "training takes 40 GiB of a GPU, and its own (H100) has 24 GiB", small);
    Facts facts = sound_facts();
    small(facts);
    facts.ranks[3].gpu_host.gpus[1].parts = {"MIG-1"};
    CHECK(judge_gpus(facts).empty());
}

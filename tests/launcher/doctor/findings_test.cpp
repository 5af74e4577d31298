// SPDX-License-Identifier: Apache-2.0
// A fault is planted into sound facts. It must be the only finding, and say where it is and what to
// do.
#include "launcher/doctor/facts_json.hpp"
#include "launcher/doctor/report.hpp"
#include "tests/launcher/doctor/planted_fault.hpp"

using namespace lockstep::tests;

TEST_CASE("nothing is found where nothing is wrong") {
    CHECK(text_of(judge(sound_facts())).empty());
    CHECK(text_of(judge(sound_facts(1, 1))).empty());
    CHECK(text_of(judge(sound_facts(5, 8))).empty());
    CHECK(verdict({}) == "a run can start");
}

TEST_CASE("widths at which tensor cores are slow, on GPUs alone") {
    const auto plant = [](Facts& facts) {
        lockstep::model::ModelConfig model;
        model.embedding_size = 300;
        model.ffn_size = 1024;
        model.heads = 5;
        facts.slow_shapes = slow_shapes(model);
        REQUIRE(facts.slow_shapes.size() == 2);
        CHECK(facts.slow_shapes[0].better == "304, or 320 for whole tiles of 64");
        CHECK(facts.slow_shapes[1].what == "--n-heads 5 makes heads of 60 columns");
        facts.slow_shapes.pop_back();
    };
    found(Severity::warns, "every rank on n1, n2", "--embedding-size 300 is no multiple of 8",
          plant);
    Facts on_cpu = sound_facts();
    plant(on_cpu);
    on_cpu.computes = Computes::on_cpu;
    CHECK(text_of(judge(on_cpu)).find("--embedding-size") == std::string::npos);
    lockstep::model::ModelConfig fast;
    fast.embedding_size = 1024;
    fast.ffn_size = 4096;
    fast.heads = 16;
    fast.vocabulary = 50257;
    CHECK(slow_shapes(fast).empty());
    fast.heads = 4;
    CHECK(slow_shapes(fast).size() == 1);
}

TEST_CASE("ranks that are missing, or believe to be the same one") {
    found(Severity::breaks, "rank 1, 3", "did not come to rank 0", [](Facts& facts) {
        facts.ranks.erase(facts.ranks.begin() + 3);
        facts.ranks.erase(facts.ranks.begin() + 1);
    });
    Facts facts = sound_facts();
    facts.ranks[3].local_rank = 0;
    CHECK(text_of(judge_ranks(facts)).find("warns rank 3 on n2: has the local rank 0 of rank 2") !=
          std::string::npos);
}

TEST_CASE("options that contradict what is there") {
    Facts facts = sound_facts();
    facts.problem = "--n-layers asks for 3, but the model in m has 2; leave the option out";
    CHECK(text_of(judge(facts)) == "breaks rank 0 on n1: " + facts.problem + "; \n");
}

TEST_CASE("cores: too many threads, one core for two ranks, bindings that overlap, a quota") {
    const auto with_quota = [](Facts& facts, std::int64_t threads) {
        for (auto& one : facts.ranks) {
            one.core_limits = {
                {CoreLimit::Kind::control_group, 1.5, static_cast<std::uint64_t>(one.rank)}};
            one.threads = threads;
        }
    };
    found(Severity::warns, "every rank on n1, n2", "time of 1.5 cores, for 2 threads",
          [&](Facts& facts) { with_quota(facts, 2); });
    Facts counted = sound_facts();
    with_quota(counted, 0);
    CHECK(threads_of(counted) == std::vector<std::int64_t>{1, 1, 1, 1});
    CHECK(judge(counted).empty());
    found(Severity::warns, "rank 2, 3 on n2", "time of 1.5 cores, for 2 threads of 2 ranks",
          [](Facts& facts) {
              for (const int rank : {2, 3})
                  facts.ranks[rank].core_limits = {{CoreLimit::Kind::control_group, 1.5, 7}};
          });
    found(Severity::warns, "rank 2, 3 on n2", "all bound to the same single core 5",
          [](Facts& facts) {
              for (int rank : {2, 3}) facts.ranks[rank].processor.cores = {5};
          });
    found(Severity::warns, "rank 0, 1 on n1", "4 computing threads share 3 cores (0-2)",
          [](Facts& facts) {
              facts.ranks[0].processor.cores = {0, 1};
              facts.ranks[1].processor.cores = {1, 2};
          });
    found(Severity::warns, "rank 3 on n2", "8 computing threads share 2 cores (2, 3)",
          [](Facts& facts) { facts.ranks[3].threads = 8; });
}

TEST_CASE("ranks that share cores get a share of the threads each") {
    Facts facts = sound_facts(1, 3);
    for (auto& one : facts.ranks) one.processor.cores = {0, 1, 2, 3};
    CHECK(threads_of(facts) == std::vector<std::int64_t>{2, 1, 1});
    CHECK(judge_cores(facts).empty());
}

TEST_CASE("memory: the host's, the control group's, /dev/shm") {
    const auto little = std::int64_t{1} << 29;
    found(Severity::breaks, "rank 2, 3 on n2",
          "take 2 GiB of memory (lockstep plan says for what), but the host has 512 MiB",
          [&](Facts& facts) {
              for (int rank : {2, 3}) facts.ranks[rank].memory.bytes = little;
          });
    found(Severity::breaks, "every rank on n1, n2", "the control group allows 512 MiB",
          [&](Facts& facts) {
              for (auto& one : facts.ranks) one.memory.limit_bytes = little;
          });
    const Plant tiny_shm = [](Facts& facts) {
        for (auto& one : facts.ranks) one.memory.shared_free_bytes = 1 << 20;
    };
    found(Severity::breaks, "every rank on n1, n2", "/dev/shm has 1 MiB free", tiny_shm);
    Facts facts = sound_facts();
    tiny_shm(facts);
    facts.computes = Computes::on_cpu;
    CHECK(judge_memory(facts).front().severity == Severity::warns);
    facts.ranks.front().source = "mpi";
    CHECK(judge_memory(facts).front().severity == Severity::breaks);
}

TEST_CASE("limits: open files, processes, locked memory where there is InfiniBand") {
    found(Severity::breaks, "rank 1 on n1", "at most 32 open files",
          [](Facts& facts) { facts.ranks[1].limits.open_files = 32; });
    found(Severity::breaks, "rank 1 on n1", "at most 10 processes",
          [](Facts& facts) { facts.ranks[1].limits.processes = 10; });
    found(Severity::warns, "rank 1 on n1", "only 64 KiB of memory may be locked", [](Facts& facts) {
        facts.ranks[1].infiniband_devices = 2;
        for (auto& one : facts.ranks) one.limits.locked_bytes = 65'536;
    });
    Facts facts = sound_facts();
    facts.ranks[0].limits.core_bytes = 0;
    CHECK(judge(facts).empty());  // a core file would hold the secret
}

TEST_CASE("versions and instructions that differ between hosts") {
    const auto second_host = [](auto change) {
        return [change](Facts& facts) {
            for (int rank : {2, 3}) change(facts.ranks[rank]);
        };
    };
    const std::string where = "rank 2, 3 on n2";
    found(Severity::breaks, where, "runs Lockstep 0.0.9, but rank 0 has 0.1.0",
          second_host([](RankFacts& one) { one.libraries.lockstep = "0.0.9"; }));
    found(Severity::breaks, where, "has NCCL 2.18.1, but rank 0 has 2.19.3",
          second_host([](RankFacts& one) { one.libraries.nccl = "2.18.1"; }));
    found(Severity::warns, where, "has the GPU driver 535.1, but rank 0 has 550.54",
          second_host([](RankFacts& one) { one.gpu_host.driver = "535.1"; }));
    found(Severity::warns, where, "has cuBLASLt 13.1.0, but rank 0 has 12.4.5",
          second_host([](RankFacts& one) { one.software.cublas_lt.version = "13.1.0"; }));
    found(Severity::warns, where, "multiplies by oneDNN 3.0",
          second_host([](RankFacts& one) { one.libraries.products = "oneDNN 3.0 avx2"; }));
    found(Severity::warns, where, "has the instructions avx2, amx_bf16, but rank 0 has avx2",
          second_host([](RankFacts& one) { one.processor.instructions.push_back("amx_bf16"); }));
    found(Severity::warns, where, "has the MPI none, but rank 0 has Open MPI", [](Facts& facts) {
        for (auto& one : facts.ranks) one.source = "mpi";
        for (int rank : {2, 3}) facts.ranks[rank].libraries.mpi = "none";
    });
}

TEST_CASE("names: unknown, of another machine, loopback, and addresses with another's name") {
    const auto lookup = [](auto change) {
        return [change](Facts& facts) { change(facts.sights[1].lookups[0]); };  // n2 about n1
    };
    found(Severity::warns, "on n2", "the name n1 does not resolve: unknown",
          lookup([](Lookup& one) { one.problem = "unknown"; }));
    found(Severity::warns, "on n2",
          "the name n1 means 10.0.0.9, which is not that host's (it has 10.0.0.1)",
          lookup([](Lookup& one) { one.addresses = {"10.0.0.9"}; }));
    found(Severity::warns, "on n2", "the name n1 means 127.0.1.1",
          lookup([](Lookup& one) { one.addresses = {"127.0.1.1"}; }));
    found(Severity::warns, "on n2", "the address 10.0.0.1 of n1 has the name n2, which is another",
          lookup([](Lookup& one) { one.name = "n2"; }));
    found(Severity::warns, "on n2", "has the name old, which does not lead back to it",
          lookup([](Lookup& one) {
              one.name = "old";
              one.name_addresses = {"10.0.0.7"};
          }));
}

TEST_CASE("names that are fine: an own one on loopback, an alias, a domain, none for the address") {
    Facts facts = sound_facts();
    facts.sights[0].lookups[0].addresses = {"127.0.1.1"};  // n1 about itself
    facts.sights[1].lookups[0].name = "n1-ib";
    facts.sights[1].lookups[1].name = "n2.cluster";
    facts.sights[0].lookups[1].name = "";
    CHECK(text_of(judge(facts)).empty());
}

TEST_CASE("ports that do not answer, and clocks that differ") {
    found(Severity::breaks, "from n2", "n1 cannot be reached: 10.0.0.1 port 5 refuses",
          [](Facts& facts) { facts.sights[1].probes[0].problem = "10.0.0.1 port 5 refuses"; });
    found(Severity::warns, "on n2", "the clock is 90 s behind n1's",
          [](Facts& facts) { facts.sights[1].probes[0].clock_ahead_s = 90; });
    found(Severity::warns, "on n2", "the clock is 1.5 s ahead of n1's",
          [](Facts& facts) { facts.sights[1].probes[0].clock_ahead_s = -1.5; });
}

TEST_CASE("data: unreadable, damaged, different, or not there") {
    const auto shard = [](auto change) {
        return [change](Facts& facts) { change(facts.sights[1].shards[0]); };
    };
    const std::string file = "data/train-00000-of-00001.h5";
    found(Severity::breaks, "rank 0, 2 on n1, n2", file + " differs between the hosts",
          shard([](ShardFacts& one) { one.hash = "3"; }));
    found(Severity::warns, "rank 2 on n2", file + " is not there, but on other hosts",
          shard([](ShardFacts& one) { one.missing = true; }));
    found(Severity::breaks, "rank 0, 2 on n1, n2", file + " is not there, on any host",
          [](Facts& facts) {
              for (auto& sight : facts.sights) sight.shards[0].missing = true;
          });
    found(Severity::breaks, "rank 2 on n2", "data holds another data set than on rank 0",
          [](Facts& facts) { facts.sights[1].data_hash = "9"; });
    Facts facts = sound_facts();
    facts.sights[1].shards[0].problem = file + ": tokens 0 to 9 are damaged; restore the file";
    facts.sights[0].data_problem = "--data data: no such folder";
    CHECK(text_of(judge(facts)) ==
          "breaks rank 0 on n1: --data data: no such folder; \n"
          "breaks rank 2 on n2: data/train-00000-of-00001.h5: tokens 0 to 9 are damaged; restore "
          "the file; \n");
    facts = sound_facts();
    facts.sights[1].shards[0] = {"train-00000-of-00001.h5", "", false, 10, 4, "other"};
    CHECK(judge(facts).empty());  // only a part was read
}

TEST_CASE("the output folder: too little room, slow, unwritable, another on each host") {
    found(Severity::breaks, "rank 0 on n1", "the checkpoints take 1 GiB, but 512 MiB are free",
          [](Facts& facts) { facts.folder.free_bytes = std::int64_t{1} << 29; });
    found(Severity::warns, "rank 0 on n1", "is written at 10 MB/s, so the checkpoints take 107 s",
          [](Facts& facts) { facts.folder.write_bytes_per_s = 1e7; });
    found(Severity::breaks, "rank 2 on n2", "/shared: a file that rank 0 wrote there is not seen",
          [](Facts& facts) {
              facts.sights[1].folder_problem = "a file that rank 0 wrote there is not seen here";
          });
    Facts facts = sound_facts();
    facts.folder.problem = "-mf model: / is not writable; choose another folder";
    CHECK(text_of(judge(facts)) == "breaks rank 0 on n1: " + facts.folder.problem + "; \n");
}

TEST_CASE("rates: a slow cable, a slow all-reduce, a slow ring") {
    Facts facts = sound_facts(4, 1);
    REQUIRE(judge(facts).empty());
    facts.pairs[4] = {1, 3, 0.4e9, 0.35e9};
    found(Severity::warns, "between n2 and n4",
          "TCP carries 400 MB/s, where the median pair of hosts has 1.1 GB/s", facts);
    facts.pairs[4] = {1, 3, 1.1e9, 0.3e9};
    found(Severity::warns, "between n2 and n4",
          "an all-reduce carries 300 MB/s, where the median pair has 1 GB/s", facts);

    found(Severity::warns, "between n1 and n2", "TCP carries 120 MB/s over interfaces of 1.25 GB/s",
          [](Facts& two) {
              two.pairs[0] = {0, 2, 0.12e9, 0.11e9};
          });
    found(Severity::warns, "between n1 and n2",
          "TCP carries 5 MB/s, less than half of gigabit Ethernet", [](Facts& two) {
              two.pairs[0] = {0, 2, 5e6, 5e6};
              two.ring = 4e6;
              for (auto& one : two.ranks) one.interfaces[1].mbit_per_s = 0;
          });
    found(Severity::warns, "between n1 and n2", "an all-reduce carries 50 MB/s, TCP alone 1.1 GB/s",
          [](Facts& two) { two.pairs[0].all_reduce = 0.05e9; });
    found(Severity::warns, "the ring of all ranks",
          "carries 20 MB/s, its slowest pair alone 1 GB/s", [](Facts& two) { two.ring = 0.02e9; });

    Facts one_host = sound_facts(1, 3);
    one_host.pairs = {{0, 1, 9e9, 1e9}, {0, 2, 9e9, 1e9}, {1, 2, 9e9, 0.1e9}};
    found(Severity::warns, "between rank 1 and 2 on n1", "an all-reduce carries 100 MB/s",
          one_host);
}

TEST_CASE("ranks that share cores are slow for that reason alone") {
    Facts facts = sound_facts();
    facts.ring = 0.02e9;
    for (int rank : {2, 3}) facts.ranks[rank].processor.cores = {3};
    CHECK(judge_rates(facts).empty());
}

TEST_CASE("ranks that cannot work together at all") {
    Facts facts = sound_facts();
    facts.not_measured = "another rank ended";
    facts.cannot_compute_together = true;
    CHECK(would_break(judge(facts)));
}

TEST_CASE("the worst comes first, and the verdict counts") {
    Facts facts = sound_facts();
    facts.ring = 0.001e9;
    facts.folder.free_bytes = 1;
    const auto findings = judge(facts);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].severity == Severity::breaks);
    CHECK(findings[1].severity == Severity::warns);
    CHECK(verdict(findings) == "a run would fail here: 1 problem, 1 warning");
    CHECK(verdict({findings[1], {Severity::notes, "", "", "", ""}}) ==
          "a run can start, 1 warning");
}

TEST_CASE("ranks that share a replica over hosts are told, with what lies within one") {
    const auto shared = [](int ranks) {
        return [ranks](Facts& facts) { facts.shared = {3, ranks, 3 << 20, 1 << 20, 1 << 20}; };
    };
    found(Severity::warns, "every rank on n1, n2",
          "4 ranks share a replica over 2 hosts (--zero 3): in every step each sends 4 MiB",
          shared(4));
    Facts facts = sound_facts();
    shared(4)(facts);
    CHECK(judge(facts).front().advice.starts_with("--zero-ranks 2 keeps each replica"));
    shared(2)(facts);
    CHECK(text_of(judge(facts)).empty());
    facts.shared = {};
    CHECK(text_of(judge(facts)).empty());
    facts = sound_facts(2, 1);
    shared(2)(facts);
    found(Severity::notes, "every rank on n1, n2", "over 2 hosts", facts);
    // Only the replica in the middle crosses a border between hosts.
    facts = sound_facts(2, 3);
    shared(2)(facts);
    found(Severity::warns, "rank 2, 3 on n1, n2", "2 ranks share a replica over 2 hosts", facts);
}

TEST_CASE("the report says how ranks share, and what each group sends") {
    Facts facts = sound_facts();
    CHECK(report_text(facts, {}).find("groups:") == std::string::npos);
    facts.shared = {1, 2, 3 << 20, 1 << 20, 2 << 20};
    CHECK(report_text(facts, {}).find(
              "groups: 2 replicas of 2 ranks (--zero 1); in a step a rank sends 3 MiB of weights "
              "and 1 MiB of gradients to those that share with it, and 2 MiB of gradients between "
              "replicas\n") != std::string::npos);
    facts.shared = {2, 4, 0, 0, 0};
    CHECK(report_text(facts, {}).find("groups: one replica of 4 ranks (--zero 2)\n") !=
          std::string::npos);
    const std::string json = report_json(facts, {});
    CHECK(json.find("\"zero\": 2") != std::string::npos);
}

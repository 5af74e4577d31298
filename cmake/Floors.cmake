# SPDX-License-Identifier: Apache-2.0
# Names for all rooms of a top folder and the rooms before it that it uses, for programs and tests that use most of them.
lockstep_floor(kernels
    kernels_base
    kernels_cpu)
lockstep_floor(comm
    comm_base
    comm_net
    comm_environment
    comm_secret
    comm_store
    comm_queue
    comm_gloo
    comm_mpi
    comm_threads
    comm_join
    comm_watch)
lockstep_floor(train
    kernels
    comm
    train_base
    train_optim
    train_reduction
    train_sharing
    train_step
    train_loop
    train_folder
    train_checkpoint
    train_pieces
    train_metrics)
lockstep_floor(model
    train
    model_base
    model_blocks
    model_decoding
    model_devices)
lockstep_floor(data
    data_patterns
    data_text
    data_jinja
    data_templates
    data_bpe
    data_tokenizer_steps
    data_decoders
    data_tokenizer_json
    data_hdf5
    data_storage
    data_writing
    data_tokenizers
    data_tokenizer_training
    data_batching
    data_loading
    data_splits
    data_prepare)
lockstep_floor(launcher_rooms
    launcher_model_folder
    launcher_command_line
    launcher_options
    launcher_processes
    launcher_text
    launcher_host
    launcher_start_up
    launcher_rank
    launcher_checkpoints
    launcher_doctor_probes
    launcher_doctor
    launcher_generate
    launcher_ladder
    launcher_plan
    launcher_report_charts
    launcher_report
    launcher_live_http
    launcher_live
    launcher_slurm
    launcher_schedulers
    launcher_torchrun
    launcher_watch
    launcher_evaluate
    launcher_memory
    launcher_train
    launcher_programs)
lockstep_floor(launcher
    launcher_rooms
    gpus)

# The module holds its own copies of what it uses of the static libraries, and shows one function.
if(MPI_CXX_FOUND)
    set(mpi ${PROJECT_SOURCE_DIR}/runtime/comm/mpi)
    add_library(lockstep_mpi MODULE ${mpi}/mpi_module.cpp ${mpi}/mpi_session.cpp ${mpi}/mpi_transport.cpp)
    set_target_properties(lockstep_mpi PROPERTIES CXX_VISIBILITY_PRESET hidden)
    target_compile_definitions(lockstep_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    target_link_libraries(lockstep_mpi PRIVATE lockstep_comm lockstep_warnings MPI::MPI_CXX)
    target_link_options(lockstep_mpi PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
endif()

if(LOCKSTEP_CUDA_FOUND)
    lockstep_floor(comm_cuda
        comm
        comm_nccl)
    lockstep_floor(model_cuda
        model
        model_devices_cuda)
endif()

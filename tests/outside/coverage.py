"""Which public functions the rows compute, and why the others are not computed.

`run.py --check` compares this with the header."""

from header import FUNCS
from rows import ROWS

# Every program calls these, or networks.py does.
HARNESS = """rg_open rg_close rg_status_of rg_error rg_clear_error rg_begin rg_end rg_free rg_from rg_read rg_read_async rg_wait rg_param rg_scalar
    rg_index rg_seed rg_dtype_of rg_bytes rg_shape_of rg_ctx_of rg_size rg_jit_new rg_jit_call rg_jit_free rg_backward rg_param_grad
    rg_nn_get rg_nn_forward rg_nn_free""".split()

REASONS = {
    "words, no values: tests/unit/api_warning.c": "rg_on_warning",
    "rg_open, which every program calls, with the version of a header: tests/unit/api.c": "rg_open_for",
    "memory and gradients that bindings share: tests/unit/api_share.c": "rg_borrow rg_expose rg_has_grad rg_set_grad rg_in_module",
    "names and sizes, no values: tests/unit/api.c": "rg_status_text rg_device rg_version rg_dtype_size rg_dtype_name rg_rank rg_dim rg_is_alive",
    "the value of a one-element tensor by rg_read: tests/unit/api.c": "rg_item",
    "which scope a handle belongs to: tests/semantics/life.c": "rg_keep",
    "counts of launches, bytes and seconds, no values: tests/unit/profile.c, tests/unit/profile_memory.c, tests/unit/api_memory.c": "rg_schedule_stats rg_stats rg_memory_of rg_memory_reset_peak rg_memory_snapshot rg_kernels rg_kernels_reset rg_machine_of rg_benchmark rg_profile_start "
    "rg_profile_step rg_profile_stop rg_range_push rg_range_pop rg_profile_table rg_flight_dump rg_jit_info",
    "formats of others, from files that others wrote: tests/unit/io.c, tests/unit/api_files.c": "rg_load_idx rg_file_count rg_file_name rg_file_note",
    "a thread that fills buffers: tests/unit/api_loader.c": "rg_loader_new rg_loader_next rg_loader_free",
    "trees of modules, which compute by the layers in them: tests/unit/nn.c, tests/unit/nn_state.c": "rg_nn_function rg_nn_sequential rg_nn_module rg_nn_add rg_nn_param rg_nn_state rg_nn_child rg_nn_user rg_nn_ctx rg_nn_train rg_nn_is_training "
    "rg_nn_params rg_nn_entries rg_nn_entry rg_nn_save rg_nn_load rg_nn_cast rg_nn_to rg_nn_precision rg_nn_precision_of rg_nn_describe",
    "state of an optimiser and its files, loss scaling: tests/unit/nn_optim.c": "rg_optim_lr rg_optim_scale rg_optim_entries rg_optim_entry rg_optim_save rg_optim_load",
    "what the gradient computes again, the values are those without it: tests/unit/checkpoint.c": "rg_checkpoint rg_nn_checkpoint rg_limit_temporaries",
    "layers of many steps, compared with stored results of PyTorch's: tests/unit/recurrent.c": "rg_gru rg_lstm rg_nn_gru rg_nn_lstm",
    "other ranks, which a program alone does not have: tests/unit/world.c": "rg_world_open rg_world_group rg_world_free rg_world_rank rg_world_size rg_world_local_rank rg_world_share rg_world_backend "
    "rg_all_reduce rg_reduce_scatter rg_all_gather rg_broadcast rg_all_to_all rg_send rg_recv rg_barrier rg_nn_data_parallel rg_nn_reduce_grads rg_nn_embedding_parallel rg_nn_load_sharded rg_nn_save_sharded",
    "formulas of a number, no tensors: tests/unit/nn_optim.c": "rg_lr_cosine rg_lr_warmup rg_lr_one_cycle",
}


def uncovered():
    """Functions that nothing names, and names of functions that do not exist."""
    named = (
        set(HARNESS)
        | {f for r in ROWS.values() for f in r.covers}
        | {f for names in REASONS.values() for f in names.split()}
    )
    return sorted(set(FUNCS) - named), sorted(named - set(FUNCS))

/* ridge_calls.h: written by tools/callsites from ridge.h, which includes it at its end. Do not edit. */
#ifndef RIDGE_H
#include "ridge.h"
#elif !defined RIDGE_CALLS_H
#define RIDGE_CALLS_H
/* clang-format off */
RG_API rg_tensor rg_keep_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_from_at(const char *file, int line, rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape);
RG_API rg_status rg_read_at(const char *file, int line, rg_tensor x, void *out, size_t bytes);
RG_API double rg_item_at(const char *file, int line, rg_tensor x);
RG_API rg_status rg_read_async_at(const char *file, int line, rg_tensor x, void *out, size_t bytes);
RG_API rg_status rg_wait_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_sync_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_realize_at(const char *file, int line, rg_tensor x);
RG_API rg_status rg_realize_all_at(const char *file, int line, rg_tensors xs);
RG_API rg_tensor rg_copy_to_at(const char *file, int line, rg_ctx *c, rg_tensor x);
RG_API rg_tensor rg_expose_at(const char *file, int line, rg_tensor x, const void **data);
RG_API rg_tensor rg_borrow_at(const char *file, int line, rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape, rg_release_fn *release, void *user);
RG_API rg_tensor rg_number_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v);
RG_API rg_tensor rg_integer_at(const char *file, int line, rg_ctx *c, rg_dtype dt, int64_t v);
RG_API rg_tensor rg_full_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v, rg_ints shape);
RG_API rg_tensor rg_zeros_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_ones_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_arange_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double start, double stop, double step);
RG_API rg_tensor rg_linspace_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double start, double stop, int64_t n);
RG_API rg_tensor rg_eye_at(const char *file, int line, rg_ctx *c, rg_dtype dt, int64_t rows, int64_t columns);
RG_API rg_tensor rg_full_like_at(const char *file, int line, rg_tensor x, double v);
RG_API rg_tensor rg_zeros_like_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_ones_like_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_scalar_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v);
RG_API rg_tensor rg_index_at(const char *file, int line, rg_ctx *c, int64_t least, int64_t greatest, int64_t v);
RG_API rg_status rg_set_scalar_at(const char *file, int line, rg_tensor s, double v);
RG_API rg_status rg_assign_at(const char *file, int line, rg_tensor x, rg_operand v);
RG_API rg_status rg_assign_slice_at(const char *file, int line, rg_tensor x, rg_operand v, rg_ranges part);
RG_API rg_status rg_grad_at(const char *file, int line, rg_tensor of, rg_tensors wrt, rg_tensor *out, rg_grad_opts o);
RG_API rg_tensor rg_param_at(const char *file, int line, rg_tensor x);
RG_API rg_status rg_backward_at(const char *file, int line, rg_tensor loss);
RG_API rg_tensor rg_param_grad_at(const char *file, int line, rg_tensor p);
RG_API rg_status rg_set_grad_at(const char *file, int line, rg_tensor p, rg_tensor g);
RG_API rg_status rg_zero_grad_at(const char *file, int line, rg_ctx *c);
RG_API rg_tensor rg_detach_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_checkpoint_at(const char *file, int line, rg_tensor y, rg_tensor x);
RG_API rg_status rg_limit_temporaries_at(const char *file, int line, rg_ctx *c, int64_t bytes);
RG_API rg_dtype rg_dtype_of_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_rank_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_dim_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API int64_t rg_size_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_bytes_at(const char *file, int line, rg_tensor x);
RG_API int64_t rg_shape_of_at(const char *file, int line, rg_tensor x, int64_t *dims, size_t room);
RG_API rg_tensor rg_reshape_at(const char *file, int line, rg_tensor x, rg_ints shape);
RG_API rg_tensor rg_permute_at(const char *file, int line, rg_tensor x, rg_ints axes);
RG_API rg_tensor rg_transpose_at(const char *file, int line, rg_tensor x, int64_t a, int64_t b);
RG_API rg_tensor rg_expand_at(const char *file, int line, rg_tensor x, rg_ints shape);
RG_API rg_tensor rg_slice_at(const char *file, int line, rg_tensor x, rg_ranges part);
RG_API rg_tensor rg_narrow_at(const char *file, int line, rg_tensor x, int64_t axis, int64_t start, int64_t size);
RG_API rg_tensor rg_select_at(const char *file, int line, rg_tensor x, int64_t axis, int64_t at);
RG_API rg_tensor rg_flip_at(const char *file, int line, rg_tensor x, rg_ints axes);
RG_API rg_tensor rg_squeeze_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_unsqueeze_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_flatten_at(const char *file, int line, rg_tensor x, int64_t first, int64_t last);
RG_API rg_tensor rg_pad_at(const char *file, int line, rg_tensor x, rg_ints before_after, double v);
RG_API rg_tensor rg_cat_at(const char *file, int line, rg_tensors xs, int64_t axis);
RG_API rg_tensor rg_stack_at(const char *file, int line, rg_tensors xs, int64_t axis);
RG_API rg_tensor rg_repeat_at(const char *file, int line, rg_tensor x, rg_ints times);
RG_API rg_tensor rg_pad_with_at(const char *file, int line, rg_tensor x, rg_ints before_after, rg_pad_mode mode);
RG_API rg_tensor rg_unflatten_at(const char *file, int line, rg_tensor x, int64_t axis, rg_ints sizes);
RG_API rg_tensor rg_unfold_at(const char *file, int line, rg_tensor x, int64_t axis, int64_t size, int64_t step);
RG_API rg_tensor rg_roll_at(const char *file, int line, rg_tensor x, rg_ints shifts, rg_ints axes);
RG_API rg_tensor rg_repeat_interleave_at(const char *file, int line, rg_tensor x, int64_t times, int64_t axis);
RG_API rg_tensor rg_tril_at(const char *file, int line, rg_tensor x, int64_t k);
RG_API rg_tensor rg_triu_at(const char *file, int line, rg_tensor x, int64_t k);
RG_API rg_tensor rg_diag_at(const char *file, int line, rg_tensor x, int64_t k);
RG_API rg_tensor rg_diagonal_at(const char *file, int line, rg_tensor x, int64_t k, int64_t a, int64_t b);
RG_API rg_status rg_split_at(const char *file, int line, rg_tensor x, int64_t axis, rg_ints sizes, rg_tensor *out);
RG_API rg_status rg_chunk_at(const char *file, int line, rg_tensor x, int64_t axis, int64_t n, rg_tensor *out);
RG_API rg_status rg_meshgrid_at(const char *file, int line, rg_tensors xs, rg_tensor *out);
RG_API rg_tensor rg_contiguous_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_cast_at(const char *file, int line, rg_tensor x, rg_dtype dt);
RG_API rg_tensor rg_bitcast_at(const char *file, int line, rg_tensor x, rg_dtype dt);
RG_API rg_tensor rg_neg_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_abs_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sign_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_square_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sqrt_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_rsqrt_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_recip_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_exp_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_exp2_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_expm1_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log2_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log10_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_log1p_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sin_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_cos_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_tan_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sinh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_cosh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_tanh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_asin_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_acos_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_atan_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_asinh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_acosh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_atanh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_erf_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_floor_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_ceil_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_trunc_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_round_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_isnan_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_isinf_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_isfinite_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_logical_not_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_bitwise_not_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_relu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_relu6_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_sigmoid_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_logsigmoid_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_silu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_gelu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_gelu_tanh_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_softplus_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_mish_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_hardswish_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_softsign_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_leaky_relu_at(const char *file, int line, rg_tensor x, double slope);
RG_API rg_tensor rg_elu_at(const char *file, int line, rg_tensor x, double alpha);
RG_API rg_tensor rg_celu_at(const char *file, int line, rg_tensor x, double alpha);
RG_API rg_tensor rg_selu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_hardsigmoid_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_quick_gelu_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_glu_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_hardtanh_at(const char *file, int line, rg_tensor x, double lo, double hi);
RG_API rg_tensor rg_add_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_sub_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_mul_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_div_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_floordiv_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_mod_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_fmod_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_pow_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_maximum_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_minimum_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_eq_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_ne_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_lt_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_le_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_gt_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_ge_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logical_and_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logical_or_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logical_xor_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_bitwise_and_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_bitwise_or_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_bitwise_xor_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_shl_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_shr_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_copysign_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_logaddexp_at(const char *file, int line, rg_operand x, rg_operand y);
RG_API rg_tensor rg_where_at(const char *file, int line, rg_operand cond, rg_operand x, rg_operand y);
RG_API rg_tensor rg_clamp_at(const char *file, int line, rg_tensor x, rg_operand lo, rg_operand hi);
RG_API rg_tensor rg_lerp_at(const char *file, int line, rg_operand a, rg_operand b, rg_operand w);
RG_API rg_tensor rg_isclose_at(const char *file, int line, rg_operand x, rg_operand y, double rtol, double atol);
RG_API rg_tensor rg_masked_fill_at(const char *file, int line, rg_tensor x, rg_tensor mask, rg_operand v);
RG_API rg_tensor rg_sum_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_prod_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_max_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_min_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_mean_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_any_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_all_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_logsumexp_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_var_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_std_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_argmax_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_argmin_at(const char *file, int line, rg_tensor x, rg_reduce_opts o);
RG_API rg_tensor rg_cumsum_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_cumprod_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_cummax_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_cummin_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_logcumsumexp_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_norm_at(const char *file, int line, rg_tensor x, double p, rg_reduce_opts o);
RG_API rg_tensor rg_softmax_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_log_softmax_at(const char *file, int line, rg_tensor x, int64_t axis);
RG_API rg_tensor rg_layernorm_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
RG_API rg_tensor rg_rmsnorm_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_norm_opts o);
RG_API rg_tensor rg_groupnorm_at(const char *file, int line, rg_tensor x, int64_t groups, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
RG_API rg_tensor rg_instancenorm_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
RG_API rg_tensor rg_batchnorm_at(const char *file, int line, rg_tensor x, rg_tensor mean, rg_tensor var, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
RG_API rg_tensor rg_normalize_at(const char *file, int line, rg_tensor x, double p, int64_t axis);
RG_API rg_tensor rg_sort_at(const char *file, int line, rg_tensor x, int64_t axis, rg_sort_opts o);
RG_API rg_tensor rg_argsort_at(const char *file, int line, rg_tensor x, int64_t axis, rg_sort_opts o);
RG_API rg_tensor rg_topk_at(const char *file, int line, rg_tensor x, int64_t k, int64_t axis, rg_sort_opts o);
RG_API rg_tensor rg_topk_index_at(const char *file, int line, rg_tensor x, int64_t k, int64_t axis, rg_sort_opts o);
RG_API rg_tensor rg_matmul_at(const char *file, int line, rg_tensor x, rg_tensor y);
RG_API rg_tensor rg_dot_at(const char *file, int line, rg_tensor x, rg_tensor y);
RG_API rg_tensor rg_outer_at(const char *file, int line, rg_tensor x, rg_tensor y);
RG_API rg_tensor rg_linear_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_tensor bias);
RG_API rg_tensor rg_gather_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index);
RG_API rg_tensor rg_take_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index);
RG_API rg_tensor rg_scatter_add_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src);
RG_API rg_tensor rg_scatter_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index, rg_operand src);
RG_API rg_tensor rg_scatter_reduce_at(const char *file, int line, rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src, rg_scatter_opts o);
RG_API rg_tensor rg_embedding_at(const char *file, int line, rg_tensor index, rg_tensor weight);
RG_API rg_tensor rg_one_hot_at(const char *file, int line, rg_tensor index, int64_t classes);
RG_API rg_tensor rg_masked_select_at(const char *file, int line, rg_tensor x, rg_tensor mask, int64_t size);
RG_API rg_tensor rg_nonzero_at(const char *file, int line, rg_tensor x, int64_t size);
RG_API rg_tensor rg_einsum_at(const char *file, int line, const char *formula, rg_tensors xs);
RG_API rg_tensor rg_conv1d_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_API rg_tensor rg_conv2d_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_API rg_tensor rg_conv3d_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_API rg_tensor rg_conv_transpose1d_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_API rg_tensor rg_conv_transpose2d_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_API rg_tensor rg_conv_transpose3d_at(const char *file, int line, rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_API rg_tensor rg_max_pool1d_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_max_pool2d_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_max_pool3d_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_max_pool2d_index_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_max_unpool2d_at(const char *file, int line, rg_tensor x, rg_tensor index, int64_t h, int64_t w);
RG_API rg_tensor rg_avg_pool1d_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_avg_pool2d_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_avg_pool3d_at(const char *file, int line, rg_tensor x, rg_pool_opts o);
RG_API rg_tensor rg_adaptive_avg_pool2d_at(const char *file, int line, rg_tensor x, int64_t h, int64_t w);
RG_API rg_tensor rg_interpolate_at(const char *file, int line, rg_tensor x, rg_ints size, rg_resize_opts o);
RG_API rg_tensor rg_attention_at(const char *file, int line, rg_tensor q, rg_tensor k, rg_tensor v, rg_attention_opts o);
RG_API rg_tensor rg_lstm_at(const char *file, int line, rg_tensor x, rg_tensor state, rg_tensors weights, rg_recurrent_opts o);
RG_API rg_tensor rg_gru_at(const char *file, int line, rg_tensor x, rg_tensor state, rg_tensors weights, rg_recurrent_opts o);
RG_API rg_tensor rg_cross_entropy_at(const char *file, int line, rg_tensor logits, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_nll_loss_at(const char *file, int line, rg_tensor log_probs, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_bce_with_logits_at(const char *file, int line, rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_bce_at(const char *file, int line, rg_tensor p, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_mse_loss_at(const char *file, int line, rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_l1_loss_at(const char *file, int line, rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_smooth_l1_loss_at(const char *file, int line, rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_huber_loss_at(const char *file, int line, rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_API rg_tensor rg_kl_div_at(const char *file, int line, rg_tensor log_probs, rg_tensor target, rg_loss_opts o);
RG_API rg_status rg_seed_at(const char *file, int line, rg_ctx *c, uint64_t seed);
RG_API rg_tensor rg_rand_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_randn_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_uniform_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double lo, double hi, rg_ints shape);
RG_API rg_tensor rg_normal_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double mean, double deviation, rg_ints shape);
RG_API rg_tensor rg_randint_at(const char *file, int line, rg_ctx *c, rg_dtype dt, int64_t lo, int64_t hi, rg_ints shape);
RG_API rg_tensor rg_randperm_at(const char *file, int line, rg_ctx *c, rg_dtype dt, int64_t n);
RG_API rg_tensor rg_rand_like_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_randn_like_at(const char *file, int line, rg_tensor x);
RG_API rg_tensor rg_glorot_uniform_at(const char *file, int line, rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_API rg_tensor rg_kaiming_uniform_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double slope, rg_ints shape);
RG_API rg_tensor rg_kaiming_normal_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double slope, rg_ints shape);
RG_API rg_tensor rg_dropout_at(const char *file, int line, rg_tensor x, double p);
RG_API rg_tensor rg_bernoulli_at(const char *file, int line, rg_tensor p);
RG_API rg_tensor rg_multinomial_at(const char *file, int line, rg_tensor weights, int64_t n, bool replace);
RG_API rg_jit *rg_jit_new_at(const char *file, int line, rg_ctx *c, rg_jit_fn *fn, void *user, size_t outputs);
RG_API rg_status rg_jit_call_at(const char *file, int line, rg_jit *j, rg_tensors in, rg_tensor *out);
RG_API rg_module *rg_nn_linear_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t out, rg_layer_opts o);
RG_API rg_module *rg_nn_conv1d_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
RG_API rg_module *rg_nn_conv2d_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
RG_API rg_module *rg_nn_conv3d_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
RG_API rg_module *rg_nn_conv_transpose2d_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
RG_API rg_module *rg_nn_batchnorm_at(const char *file, int line, rg_ctx *c, int64_t channels, rg_layer_opts o);
RG_API rg_module *rg_nn_layernorm_at(const char *file, int line, rg_ctx *c, rg_ints shape, rg_layer_opts o);
RG_API rg_module *rg_nn_groupnorm_at(const char *file, int line, rg_ctx *c, int64_t groups, int64_t channels, rg_layer_opts o);
RG_API rg_module *rg_nn_instancenorm_at(const char *file, int line, rg_ctx *c, int64_t channels, rg_layer_opts o);
RG_API rg_module *rg_nn_rmsnorm_at(const char *file, int line, rg_ctx *c, int64_t size, rg_layer_opts o);
RG_API rg_module *rg_nn_embedding_at(const char *file, int line, rg_ctx *c, int64_t count, int64_t size);
RG_API rg_module *rg_nn_embedding_parallel_at(const char *file, int line, rg_ctx *c, int64_t count, int64_t size, rg_world *w);
RG_API rg_module *rg_nn_attention_at(const char *file, int line, rg_ctx *c, int64_t size, int64_t heads, rg_layer_opts o);
RG_API rg_module *rg_nn_lstm_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t hidden, rg_recurrent_opts o);
RG_API rg_module *rg_nn_gru_at(const char *file, int line, rg_ctx *c, int64_t in, int64_t hidden, rg_recurrent_opts o);
RG_API rg_module *rg_nn_dropout_at(const char *file, int line, rg_ctx *c, double p);
RG_API rg_module *rg_nn_function_at(const char *file, int line, rg_ctx *c, const char *name, rg_unary_fn *fn);
RG_API rg_module *rg_nn_max_pool2d_at(const char *file, int line, rg_ctx *c, rg_pool_opts o);
RG_API rg_module *rg_nn_flatten_at(const char *file, int line, rg_ctx *c, int64_t first);
RG_API rg_module *rg_nn_sequential_at(const char *file, int line, rg_ctx *c, rg_modules list);
RG_API rg_module *rg_nn_module_at(const char *file, int line, rg_ctx *c, rg_forward_fn *fn, void *user);
RG_API rg_status rg_nn_add_at(const char *file, int line, rg_module *m, const char *name, rg_module *child);
RG_API rg_tensor rg_nn_param_at(const char *file, int line, rg_module *m, const char *name, rg_tensor value);
RG_API rg_tensor rg_nn_state_at(const char *file, int line, rg_module *m, const char *name, rg_tensor value);
RG_API rg_tensor rg_nn_forward_at(const char *file, int line, rg_module *m, rg_tensor x);
RG_API rg_tensor rg_nn_get_at(const char *file, int line, rg_module *m, const char *path);
RG_API rg_status rg_nn_train_at(const char *file, int line, rg_module *m, bool train);
RG_API rg_status rg_nn_checkpoint_at(const char *file, int line, rg_module *m, bool on);
RG_API rg_tensors rg_nn_params_at(const char *file, int line, rg_module *m);
RG_API rg_status rg_nn_save_at(const char *file, int line, rg_module *m, const char *path);
RG_API rg_status rg_nn_load_at(const char *file, int line, rg_module *m, const char *path, bool partial);
RG_API rg_status rg_nn_cast_at(const char *file, int line, rg_module *m, rg_dtype dt);
RG_API rg_module *rg_nn_to_at(const char *file, int line, rg_module *m, rg_ctx *c);
RG_API rg_status rg_nn_precision_at(const char *file, int line, rg_module *m, rg_dtype dt);
RG_API rg_optim *rg_sgd_at(const char *file, int line, rg_tensors params, rg_optim_opts o);
RG_API rg_optim *rg_adam_at(const char *file, int line, rg_tensors params, rg_optim_opts o);
RG_API rg_optim *rg_adamw_at(const char *file, int line, rg_tensors params, rg_optim_opts o);
RG_API rg_status rg_optim_step_at(const char *file, int line, rg_optim *o);
RG_API rg_status rg_optim_set_lr_at(const char *file, int line, rg_optim *o, double lr);
RG_API rg_tensor rg_optim_scale_at(const char *file, int line, rg_optim *o, rg_tensor loss);
RG_API rg_status rg_optim_save_at(const char *file, int line, rg_optim *o, const char *path);
RG_API rg_status rg_optim_load_at(const char *file, int line, rg_optim *o, const char *path);
RG_API rg_tensor rg_clip_grad_norm_at(const char *file, int line, rg_tensors params, double most);
RG_API rg_status rg_clip_grad_value_at(const char *file, int line, rg_tensors params, double most);
RG_API rg_tensor rg_load_npy_at(const char *file, int line, rg_ctx *c, const char *path);
RG_API rg_status rg_save_npy_at(const char *file, int line, rg_tensor x, const char *path);
RG_API rg_tensor rg_load_idx_at(const char *file, int line, rg_ctx *c, const char *path);
RG_API rg_file *rg_file_open_at(const char *file, int line, rg_ctx *c, const char *path);
RG_API rg_tensor rg_file_get_at(const char *file, int line, rg_file *f, const char *name);
RG_API rg_status rg_save_at(const char *file, int line, const char *path, const char *const *names, rg_tensors xs);
RG_API rg_loader *rg_loader_new_at(const char *file, int line, rg_ctx *c, const rg_batch_part *part, size_t parts, rg_fill_fn *fill, void *user, rg_loader_opts o);
RG_API rg_status rg_loader_next_at(const char *file, int line, rg_loader *l, rg_tensor *out, bool *end);
RG_API rg_world *rg_world_open_at(const char *file, int line, rg_ctx *c, rg_world_opts o);
RG_API rg_world *rg_world_group_at(const char *file, int line, rg_world *w, rg_ints ranks);
RG_API rg_tensor rg_all_reduce_at(const char *file, int line, rg_tensor x, rg_world *w, rg_combine how);
RG_API rg_tensor rg_reduce_scatter_at(const char *file, int line, rg_tensor x, rg_world *w, rg_combine how);
RG_API rg_tensor rg_all_gather_at(const char *file, int line, rg_tensor x, rg_world *w);
RG_API rg_tensor rg_broadcast_at(const char *file, int line, rg_tensor x, rg_world *w, int64_t root);
RG_API rg_tensor rg_all_to_all_at(const char *file, int line, rg_tensor x, rg_world *w);
RG_API rg_status rg_send_at(const char *file, int line, rg_tensor x, rg_world *w, int64_t to);
RG_API rg_tensor rg_recv_at(const char *file, int line, rg_tensor like, rg_world *w, int64_t from);
RG_API rg_status rg_barrier_at(const char *file, int line, rg_world *w);
RG_API rg_status rg_nn_data_parallel_at(const char *file, int line, rg_module *m, rg_world *w, rg_parallel_opts o);
RG_API rg_status rg_nn_save_sharded_at(const char *file, int line, rg_module *m, rg_optim *o, rg_world *w, const char *path);
RG_API rg_status rg_nn_load_sharded_at(const char *file, int line, rg_module *m, rg_optim *o, rg_world *w, const char *path);
RG_API rg_status rg_nn_reduce_grads_at(const char *file, int line, rg_module *m);
RG_API rg_status rg_schedule_stats_at(const char *file, int line, rg_tensors xs, rg_plan_stats *out);
RG_API rg_status rg_stats_at(const char *file, int line, rg_ctx *c, rg_usage *out);
RG_API rg_status rg_memory_of_at(const char *file, int line, rg_ctx *c, rg_memory *out);
RG_API rg_status rg_memory_reset_peak_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_collect_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_memory_snapshot_at(const char *file, int line, rg_ctx *c, const char *path);
RG_API size_t rg_kernels_at(const char *file, int line, rg_ctx *c, rg_kernel_cost *out, size_t room);
RG_API rg_status rg_kernels_reset_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_benchmark_at(const char *file, int line, rg_ctx *c, rg_benchmark_fn *fn, void *user, rg_benchmark_result *out, rg_benchmark_opts o);
RG_API rg_status rg_machine_of_at(const char *file, int line, rg_ctx *c, rg_machine *out);
RG_API rg_status rg_profile_start_at(const char *file, int line, rg_ctx *c, const char *path, rg_profile_opts o);
RG_API rg_status rg_profile_step_at(const char *file, int line, rg_ctx *c);
RG_API rg_status rg_profile_stop_at(const char *file, int line, rg_ctx *c);
RG_API size_t rg_profile_table_at(const char *file, int line, rg_ctx *c, const char *path, char *out, size_t room, rg_table_opts o);

#if !defined __cplusplus && !defined RG_NO_SITES
#define rg_keep(x) rg_keep_at(RG_HERE, x)
#define rg_from(...) rg_from_at(RG_HERE, __VA_ARGS__)
#define rg_read(x, ...) rg_read_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_item(x) rg_item_at(RG_HERE, RG_ARG(x, #x))
#define rg_read_async(x, ...) rg_read_async_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_wait(...) rg_wait_at(RG_HERE, __VA_ARGS__)
#define rg_sync(...) rg_sync_at(RG_HERE, __VA_ARGS__)
#define rg_realize(x) rg_realize_at(RG_HERE, RG_ARG(x, #x))
#define rg_realize_all(...) rg_realize_all_at(RG_HERE, __VA_ARGS__)
#define rg_copy_to(c, x) rg_copy_to_at(RG_HERE, c, RG_ARG(x, #x))
#define rg_expose(x, ...) rg_expose_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_borrow(...) rg_borrow_at(RG_HERE, __VA_ARGS__)
#define rg_number(...) rg_number_at(RG_HERE, __VA_ARGS__)
#define rg_integer(...) rg_integer_at(RG_HERE, __VA_ARGS__)
#define rg_full(...) rg_full_at(RG_HERE, __VA_ARGS__)
#define rg_zeros(...) rg_zeros_at(RG_HERE, __VA_ARGS__)
#define rg_ones(...) rg_ones_at(RG_HERE, __VA_ARGS__)
#define rg_arange(...) rg_arange_at(RG_HERE, __VA_ARGS__)
#define rg_linspace(...) rg_linspace_at(RG_HERE, __VA_ARGS__)
#define rg_eye(...) rg_eye_at(RG_HERE, __VA_ARGS__)
#define rg_full_like(x, ...) rg_full_like_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_zeros_like(x) rg_zeros_like_at(RG_HERE, RG_ARG(x, #x))
#define rg_ones_like(x) rg_ones_like_at(RG_HERE, RG_ARG(x, #x))
#define rg_scalar(...) rg_scalar_at(RG_HERE, __VA_ARGS__)
#define rg_index(...) rg_index_at(RG_HERE, __VA_ARGS__)
#define rg_set_scalar(s, ...) rg_set_scalar_at(RG_HERE, RG_ARG(s, #s), __VA_ARGS__)
#define rg_assign(x, v) rg_assign_at(RG_HERE, RG_ARG(x, #x), RG_OPERAND(v, #v))
#define rg_assign_slice(x, v, ...) rg_assign_slice_at(RG_HERE, RG_ARG(x, #x), RG_OPERAND(v, #v), __VA_ARGS__)
#define rg_grad(of, wrt, out, ...) rg_grad_at(RG_HERE, RG_ARG(of, #of), wrt, out, (rg_grad_opts){.size_ = sizeof(rg_grad_opts), __VA_ARGS__})
#define rg_param(x) rg_param_at(RG_HERE, RG_ARG(x, #x))
#define rg_backward(loss) rg_backward_at(RG_HERE, RG_ARG(loss, #loss))
#define rg_param_grad(p) rg_param_grad_at(RG_HERE, RG_ARG(p, #p))
#define rg_set_grad(p, g) rg_set_grad_at(RG_HERE, RG_ARG(p, #p), RG_ARG(g, #g))
#define rg_zero_grad(...) rg_zero_grad_at(RG_HERE, __VA_ARGS__)
#define rg_detach(x) rg_detach_at(RG_HERE, RG_ARG(x, #x))
#define rg_checkpoint(y, x) rg_checkpoint_at(RG_HERE, RG_ARG(y, #y), RG_ARG(x, #x))
#define rg_limit_temporaries(...) rg_limit_temporaries_at(RG_HERE, __VA_ARGS__)
#define rg_dtype_of(x) rg_dtype_of_at(RG_HERE, RG_ARG(x, #x))
#define rg_rank(x) rg_rank_at(RG_HERE, RG_ARG(x, #x))
#define rg_dim(x, ...) rg_dim_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_size(x) rg_size_at(RG_HERE, RG_ARG(x, #x))
#define rg_bytes(x) rg_bytes_at(RG_HERE, RG_ARG(x, #x))
#define rg_shape_of(x, ...) rg_shape_of_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_reshape(x, ...) rg_reshape_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_permute(x, ...) rg_permute_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_transpose(x, ...) rg_transpose_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_expand(x, ...) rg_expand_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_slice(x, ...) rg_slice_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_narrow(x, ...) rg_narrow_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_select(x, ...) rg_select_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_flip(x, ...) rg_flip_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_squeeze(x, ...) rg_squeeze_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_unsqueeze(x, ...) rg_unsqueeze_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_flatten(x, ...) rg_flatten_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_pad(x, ...) rg_pad_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cat(...) rg_cat_at(RG_HERE, __VA_ARGS__)
#define rg_stack(...) rg_stack_at(RG_HERE, __VA_ARGS__)
#define rg_repeat(x, ...) rg_repeat_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_pad_with(x, ...) rg_pad_with_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_unflatten(x, ...) rg_unflatten_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_unfold(x, ...) rg_unfold_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_roll(x, ...) rg_roll_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_repeat_interleave(x, ...) rg_repeat_interleave_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_tril(x, ...) rg_tril_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_triu(x, ...) rg_triu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_diag(x, ...) rg_diag_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_diagonal(x, ...) rg_diagonal_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_split(x, ...) rg_split_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_chunk(x, ...) rg_chunk_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_meshgrid(...) rg_meshgrid_at(RG_HERE, __VA_ARGS__)
#define rg_contiguous(x) rg_contiguous_at(RG_HERE, RG_ARG(x, #x))
#define rg_cast(x, ...) rg_cast_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_bitcast(x, ...) rg_bitcast_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_neg(x) rg_neg_at(RG_HERE, RG_ARG(x, #x))
#define rg_abs(x) rg_abs_at(RG_HERE, RG_ARG(x, #x))
#define rg_sign(x) rg_sign_at(RG_HERE, RG_ARG(x, #x))
#define rg_square(x) rg_square_at(RG_HERE, RG_ARG(x, #x))
#define rg_sqrt(x) rg_sqrt_at(RG_HERE, RG_ARG(x, #x))
#define rg_rsqrt(x) rg_rsqrt_at(RG_HERE, RG_ARG(x, #x))
#define rg_recip(x) rg_recip_at(RG_HERE, RG_ARG(x, #x))
#define rg_exp(x) rg_exp_at(RG_HERE, RG_ARG(x, #x))
#define rg_exp2(x) rg_exp2_at(RG_HERE, RG_ARG(x, #x))
#define rg_expm1(x) rg_expm1_at(RG_HERE, RG_ARG(x, #x))
#define rg_log(x) rg_log_at(RG_HERE, RG_ARG(x, #x))
#define rg_log2(x) rg_log2_at(RG_HERE, RG_ARG(x, #x))
#define rg_log10(x) rg_log10_at(RG_HERE, RG_ARG(x, #x))
#define rg_log1p(x) rg_log1p_at(RG_HERE, RG_ARG(x, #x))
#define rg_sin(x) rg_sin_at(RG_HERE, RG_ARG(x, #x))
#define rg_cos(x) rg_cos_at(RG_HERE, RG_ARG(x, #x))
#define rg_tan(x) rg_tan_at(RG_HERE, RG_ARG(x, #x))
#define rg_sinh(x) rg_sinh_at(RG_HERE, RG_ARG(x, #x))
#define rg_cosh(x) rg_cosh_at(RG_HERE, RG_ARG(x, #x))
#define rg_tanh(x) rg_tanh_at(RG_HERE, RG_ARG(x, #x))
#define rg_asin(x) rg_asin_at(RG_HERE, RG_ARG(x, #x))
#define rg_acos(x) rg_acos_at(RG_HERE, RG_ARG(x, #x))
#define rg_atan(x) rg_atan_at(RG_HERE, RG_ARG(x, #x))
#define rg_asinh(x) rg_asinh_at(RG_HERE, RG_ARG(x, #x))
#define rg_acosh(x) rg_acosh_at(RG_HERE, RG_ARG(x, #x))
#define rg_atanh(x) rg_atanh_at(RG_HERE, RG_ARG(x, #x))
#define rg_erf(x) rg_erf_at(RG_HERE, RG_ARG(x, #x))
#define rg_floor(x) rg_floor_at(RG_HERE, RG_ARG(x, #x))
#define rg_ceil(x) rg_ceil_at(RG_HERE, RG_ARG(x, #x))
#define rg_trunc(x) rg_trunc_at(RG_HERE, RG_ARG(x, #x))
#define rg_round(x) rg_round_at(RG_HERE, RG_ARG(x, #x))
#define rg_isnan(x) rg_isnan_at(RG_HERE, RG_ARG(x, #x))
#define rg_isinf(x) rg_isinf_at(RG_HERE, RG_ARG(x, #x))
#define rg_isfinite(x) rg_isfinite_at(RG_HERE, RG_ARG(x, #x))
#define rg_logical_not(x) rg_logical_not_at(RG_HERE, RG_ARG(x, #x))
#define rg_bitwise_not(x) rg_bitwise_not_at(RG_HERE, RG_ARG(x, #x))
#define rg_relu(x) rg_relu_at(RG_HERE, RG_ARG(x, #x))
#define rg_relu6(x) rg_relu6_at(RG_HERE, RG_ARG(x, #x))
#define rg_sigmoid(x) rg_sigmoid_at(RG_HERE, RG_ARG(x, #x))
#define rg_logsigmoid(x) rg_logsigmoid_at(RG_HERE, RG_ARG(x, #x))
#define rg_silu(x) rg_silu_at(RG_HERE, RG_ARG(x, #x))
#define rg_gelu(x) rg_gelu_at(RG_HERE, RG_ARG(x, #x))
#define rg_gelu_tanh(x) rg_gelu_tanh_at(RG_HERE, RG_ARG(x, #x))
#define rg_softplus(x) rg_softplus_at(RG_HERE, RG_ARG(x, #x))
#define rg_mish(x) rg_mish_at(RG_HERE, RG_ARG(x, #x))
#define rg_hardswish(x) rg_hardswish_at(RG_HERE, RG_ARG(x, #x))
#define rg_softsign(x) rg_softsign_at(RG_HERE, RG_ARG(x, #x))
#define rg_leaky_relu(x, ...) rg_leaky_relu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_elu(x, ...) rg_elu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_celu(x, ...) rg_celu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_selu(x) rg_selu_at(RG_HERE, RG_ARG(x, #x))
#define rg_hardsigmoid(x) rg_hardsigmoid_at(RG_HERE, RG_ARG(x, #x))
#define rg_quick_gelu(x) rg_quick_gelu_at(RG_HERE, RG_ARG(x, #x))
#define rg_glu(x, ...) rg_glu_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_hardtanh(x, ...) rg_hardtanh_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_add(x, y) rg_add_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_sub(x, y) rg_sub_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_mul(x, y) rg_mul_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_div(x, y) rg_div_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_floordiv(x, y) rg_floordiv_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_mod(x, y) rg_mod_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_fmod(x, y) rg_fmod_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_pow(x, y) rg_pow_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_maximum(x, y) rg_maximum_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_minimum(x, y) rg_minimum_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_eq(x, y) rg_eq_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_ne(x, y) rg_ne_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_lt(x, y) rg_lt_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_le(x, y) rg_le_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_gt(x, y) rg_gt_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_ge(x, y) rg_ge_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logical_and(x, y) rg_logical_and_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logical_or(x, y) rg_logical_or_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logical_xor(x, y) rg_logical_xor_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_bitwise_and(x, y) rg_bitwise_and_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_bitwise_or(x, y) rg_bitwise_or_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_bitwise_xor(x, y) rg_bitwise_xor_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_shl(x, y) rg_shl_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_shr(x, y) rg_shr_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_copysign(x, y) rg_copysign_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_logaddexp(x, y) rg_logaddexp_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_where(cond, x, y) rg_where_at(RG_HERE, RG_OPERAND(cond, #cond), RG_OPERAND(x, #x), RG_OPERAND(y, #y))
#define rg_clamp(x, lo, hi) rg_clamp_at(RG_HERE, RG_ARG(x, #x), RG_OPERAND(lo, #lo), RG_OPERAND(hi, #hi))
#define rg_lerp(a, b, w) rg_lerp_at(RG_HERE, RG_OPERAND(a, #a), RG_OPERAND(b, #b), RG_OPERAND(w, #w))
#define rg_isclose(x, y, ...) rg_isclose_at(RG_HERE, RG_OPERAND(x, #x), RG_OPERAND(y, #y), __VA_ARGS__)
#define rg_masked_fill(x, mask, v) rg_masked_fill_at(RG_HERE, RG_ARG(x, #x), RG_ARG(mask, #mask), RG_OPERAND(v, #v))
#define rg_sum(x, ...) rg_sum_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_prod(x, ...) rg_prod_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_max(x, ...) rg_max_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_min(x, ...) rg_min_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_mean(x, ...) rg_mean_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_any(x, ...) rg_any_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_all(x, ...) rg_all_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_logsumexp(x, ...) rg_logsumexp_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_var(x, ...) rg_var_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_std(x, ...) rg_std_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_argmax(x, ...) rg_argmax_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_argmin(x, ...) rg_argmin_at(RG_HERE, RG_ARG(x, #x), (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_cumsum(x, ...) rg_cumsum_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cumprod(x, ...) rg_cumprod_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cummax(x, ...) rg_cummax_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_cummin(x, ...) rg_cummin_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_logcumsumexp(x, ...) rg_logcumsumexp_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_norm(x, p, ...) rg_norm_at(RG_HERE, RG_ARG(x, #x), p, (rg_reduce_opts){.size_ = sizeof(rg_reduce_opts), __VA_ARGS__})
#define rg_softmax(x, ...) rg_softmax_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_log_softmax(x, ...) rg_log_softmax_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_layernorm(x, weight, bias, ...) rg_layernorm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), RG_ARG(bias, #bias), (rg_norm_opts){.size_ = sizeof(rg_norm_opts), __VA_ARGS__})
#define rg_rmsnorm(x, weight, ...) rg_rmsnorm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_norm_opts){.size_ = sizeof(rg_norm_opts), __VA_ARGS__})
#define rg_groupnorm(x, groups, weight, bias, ...) rg_groupnorm_at(RG_HERE, RG_ARG(x, #x), groups, RG_ARG(weight, #weight), RG_ARG(bias, #bias), (rg_norm_opts){.size_ = sizeof(rg_norm_opts), __VA_ARGS__})
#define rg_instancenorm(x, weight, bias, ...) rg_instancenorm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), RG_ARG(bias, #bias), (rg_norm_opts){.size_ = sizeof(rg_norm_opts), __VA_ARGS__})
#define rg_batchnorm(x, mean, var, weight, bias, ...) rg_batchnorm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(mean, #mean), RG_ARG(var, #var), RG_ARG(weight, #weight), RG_ARG(bias, #bias), (rg_norm_opts){.size_ = sizeof(rg_norm_opts), __VA_ARGS__})
#define rg_normalize(x, ...) rg_normalize_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_sort(x, axis, ...) rg_sort_at(RG_HERE, RG_ARG(x, #x), axis, (rg_sort_opts){.size_ = sizeof(rg_sort_opts), __VA_ARGS__})
#define rg_argsort(x, axis, ...) rg_argsort_at(RG_HERE, RG_ARG(x, #x), axis, (rg_sort_opts){.size_ = sizeof(rg_sort_opts), __VA_ARGS__})
#define rg_topk(x, k, axis, ...) rg_topk_at(RG_HERE, RG_ARG(x, #x), k, axis, (rg_sort_opts){.size_ = sizeof(rg_sort_opts), __VA_ARGS__})
#define rg_topk_index(x, k, axis, ...) rg_topk_index_at(RG_HERE, RG_ARG(x, #x), k, axis, (rg_sort_opts){.size_ = sizeof(rg_sort_opts), __VA_ARGS__})
#define rg_matmul(x, y) rg_matmul_at(RG_HERE, RG_ARG(x, #x), RG_ARG(y, #y))
#define rg_dot(x, y) rg_dot_at(RG_HERE, RG_ARG(x, #x), RG_ARG(y, #y))
#define rg_outer(x, y) rg_outer_at(RG_HERE, RG_ARG(x, #x), RG_ARG(y, #y))
#define rg_linear(x, weight, bias) rg_linear_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), RG_ARG(bias, #bias))
#define rg_gather(x, axis, index) rg_gather_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index))
#define rg_take(x, axis, index) rg_take_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index))
#define rg_scatter_add(x, axis, index, src) rg_scatter_add_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index), RG_ARG(src, #src))
#define rg_scatter(x, axis, index, src) rg_scatter_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index), RG_OPERAND(src, #src))
#define rg_scatter_reduce(x, axis, index, src, ...) rg_scatter_reduce_at(RG_HERE, RG_ARG(x, #x), axis, RG_ARG(index, #index), RG_ARG(src, #src), (rg_scatter_opts){.size_ = sizeof(rg_scatter_opts), __VA_ARGS__})
#define rg_embedding(index, weight) rg_embedding_at(RG_HERE, RG_ARG(index, #index), RG_ARG(weight, #weight))
#define rg_one_hot(index, ...) rg_one_hot_at(RG_HERE, RG_ARG(index, #index), __VA_ARGS__)
#define rg_masked_select(x, mask, ...) rg_masked_select_at(RG_HERE, RG_ARG(x, #x), RG_ARG(mask, #mask), __VA_ARGS__)
#define rg_nonzero(x, ...) rg_nonzero_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_einsum(...) rg_einsum_at(RG_HERE, __VA_ARGS__)
#define rg_conv1d(x, weight, ...) rg_conv1d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_conv_opts){.size_ = sizeof(rg_conv_opts), __VA_ARGS__})
#define rg_conv2d(x, weight, ...) rg_conv2d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_conv_opts){.size_ = sizeof(rg_conv_opts), __VA_ARGS__})
#define rg_conv3d(x, weight, ...) rg_conv3d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_conv_opts){.size_ = sizeof(rg_conv_opts), __VA_ARGS__})
#define rg_conv_transpose1d(x, weight, ...) rg_conv_transpose1d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_conv_opts){.size_ = sizeof(rg_conv_opts), __VA_ARGS__})
#define rg_conv_transpose2d(x, weight, ...) rg_conv_transpose2d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_conv_opts){.size_ = sizeof(rg_conv_opts), __VA_ARGS__})
#define rg_conv_transpose3d(x, weight, ...) rg_conv_transpose3d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(weight, #weight), (rg_conv_opts){.size_ = sizeof(rg_conv_opts), __VA_ARGS__})
#define rg_max_pool1d(x, ...) rg_max_pool1d_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_max_pool2d(x, ...) rg_max_pool2d_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_max_pool3d(x, ...) rg_max_pool3d_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_max_pool2d_index(x, ...) rg_max_pool2d_index_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_max_unpool2d(x, index, ...) rg_max_unpool2d_at(RG_HERE, RG_ARG(x, #x), RG_ARG(index, #index), __VA_ARGS__)
#define rg_avg_pool1d(x, ...) rg_avg_pool1d_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_avg_pool2d(x, ...) rg_avg_pool2d_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_avg_pool3d(x, ...) rg_avg_pool3d_at(RG_HERE, RG_ARG(x, #x), (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_adaptive_avg_pool2d(x, ...) rg_adaptive_avg_pool2d_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_interpolate(x, size, ...) rg_interpolate_at(RG_HERE, RG_ARG(x, #x), size, (rg_resize_opts){.size_ = sizeof(rg_resize_opts), __VA_ARGS__})
#define rg_attention(q, k, v, ...) rg_attention_at(RG_HERE, RG_ARG(q, #q), RG_ARG(k, #k), RG_ARG(v, #v), (rg_attention_opts){.size_ = sizeof(rg_attention_opts), __VA_ARGS__})
#define rg_lstm(x, state, weights, ...) rg_lstm_at(RG_HERE, RG_ARG(x, #x), RG_ARG(state, #state), weights, (rg_recurrent_opts){.size_ = sizeof(rg_recurrent_opts), __VA_ARGS__})
#define rg_gru(x, state, weights, ...) rg_gru_at(RG_HERE, RG_ARG(x, #x), RG_ARG(state, #state), weights, (rg_recurrent_opts){.size_ = sizeof(rg_recurrent_opts), __VA_ARGS__})
#define rg_cross_entropy(logits, target, ...) rg_cross_entropy_at(RG_HERE, RG_ARG(logits, #logits), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_nll_loss(log_probs, target, ...) rg_nll_loss_at(RG_HERE, RG_ARG(log_probs, #log_probs), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_bce_with_logits(x, target, ...) rg_bce_with_logits_at(RG_HERE, RG_ARG(x, #x), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_bce(p, target, ...) rg_bce_at(RG_HERE, RG_ARG(p, #p), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_mse_loss(x, target, ...) rg_mse_loss_at(RG_HERE, RG_ARG(x, #x), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_l1_loss(x, target, ...) rg_l1_loss_at(RG_HERE, RG_ARG(x, #x), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_smooth_l1_loss(x, target, ...) rg_smooth_l1_loss_at(RG_HERE, RG_ARG(x, #x), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_huber_loss(x, target, ...) rg_huber_loss_at(RG_HERE, RG_ARG(x, #x), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_kl_div(log_probs, target, ...) rg_kl_div_at(RG_HERE, RG_ARG(log_probs, #log_probs), RG_ARG(target, #target), (rg_loss_opts){.size_ = sizeof(rg_loss_opts), __VA_ARGS__})
#define rg_seed(...) rg_seed_at(RG_HERE, __VA_ARGS__)
#define rg_rand(...) rg_rand_at(RG_HERE, __VA_ARGS__)
#define rg_randn(...) rg_randn_at(RG_HERE, __VA_ARGS__)
#define rg_uniform(...) rg_uniform_at(RG_HERE, __VA_ARGS__)
#define rg_normal(...) rg_normal_at(RG_HERE, __VA_ARGS__)
#define rg_randint(...) rg_randint_at(RG_HERE, __VA_ARGS__)
#define rg_randperm(...) rg_randperm_at(RG_HERE, __VA_ARGS__)
#define rg_rand_like(x) rg_rand_like_at(RG_HERE, RG_ARG(x, #x))
#define rg_randn_like(x) rg_randn_like_at(RG_HERE, RG_ARG(x, #x))
#define rg_glorot_uniform(...) rg_glorot_uniform_at(RG_HERE, __VA_ARGS__)
#define rg_kaiming_uniform(...) rg_kaiming_uniform_at(RG_HERE, __VA_ARGS__)
#define rg_kaiming_normal(...) rg_kaiming_normal_at(RG_HERE, __VA_ARGS__)
#define rg_dropout(x, ...) rg_dropout_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_bernoulli(p) rg_bernoulli_at(RG_HERE, RG_ARG(p, #p))
#define rg_multinomial(weights, ...) rg_multinomial_at(RG_HERE, RG_ARG(weights, #weights), __VA_ARGS__)
#define rg_jit_new(...) rg_jit_new_at(RG_HERE, __VA_ARGS__)
#define rg_jit_call(...) rg_jit_call_at(RG_HERE, __VA_ARGS__)
#define rg_nn_linear(c, in, out, ...) rg_nn_linear_at(RG_HERE, c, in, out, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_conv1d(c, in, out, size, ...) rg_nn_conv1d_at(RG_HERE, c, in, out, size, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_conv2d(c, in, out, size, ...) rg_nn_conv2d_at(RG_HERE, c, in, out, size, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_conv3d(c, in, out, size, ...) rg_nn_conv3d_at(RG_HERE, c, in, out, size, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_conv_transpose2d(c, in, out, size, ...) rg_nn_conv_transpose2d_at(RG_HERE, c, in, out, size, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_batchnorm(c, channels, ...) rg_nn_batchnorm_at(RG_HERE, c, channels, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_layernorm(c, shape, ...) rg_nn_layernorm_at(RG_HERE, c, shape, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_groupnorm(c, groups, channels, ...) rg_nn_groupnorm_at(RG_HERE, c, groups, channels, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_instancenorm(c, channels, ...) rg_nn_instancenorm_at(RG_HERE, c, channels, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_rmsnorm(c, size, ...) rg_nn_rmsnorm_at(RG_HERE, c, size, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_embedding(...) rg_nn_embedding_at(RG_HERE, __VA_ARGS__)
#define rg_nn_embedding_parallel(...) rg_nn_embedding_parallel_at(RG_HERE, __VA_ARGS__)
#define rg_nn_attention(c, size, heads, ...) rg_nn_attention_at(RG_HERE, c, size, heads, (rg_layer_opts){.size_ = sizeof(rg_layer_opts), __VA_ARGS__})
#define rg_nn_lstm(c, in, hidden, ...) rg_nn_lstm_at(RG_HERE, c, in, hidden, (rg_recurrent_opts){.size_ = sizeof(rg_recurrent_opts), __VA_ARGS__})
#define rg_nn_gru(c, in, hidden, ...) rg_nn_gru_at(RG_HERE, c, in, hidden, (rg_recurrent_opts){.size_ = sizeof(rg_recurrent_opts), __VA_ARGS__})
#define rg_nn_dropout(...) rg_nn_dropout_at(RG_HERE, __VA_ARGS__)
#define rg_nn_function(...) rg_nn_function_at(RG_HERE, __VA_ARGS__)
#define rg_nn_max_pool2d(c, ...) rg_nn_max_pool2d_at(RG_HERE, c, (rg_pool_opts){.size_ = sizeof(rg_pool_opts), __VA_ARGS__})
#define rg_nn_flatten(...) rg_nn_flatten_at(RG_HERE, __VA_ARGS__)
#define rg_nn_sequential(...) rg_nn_sequential_at(RG_HERE, __VA_ARGS__)
#define rg_nn_module(...) rg_nn_module_at(RG_HERE, __VA_ARGS__)
#define rg_nn_add(...) rg_nn_add_at(RG_HERE, __VA_ARGS__)
#define rg_nn_param(m, name, value) rg_nn_param_at(RG_HERE, m, name, RG_ARG(value, #value))
#define rg_nn_state(m, name, value) rg_nn_state_at(RG_HERE, m, name, RG_ARG(value, #value))
#define rg_nn_forward(m, x) rg_nn_forward_at(RG_HERE, m, RG_ARG(x, #x))
#define rg_nn_get(...) rg_nn_get_at(RG_HERE, __VA_ARGS__)
#define rg_nn_train(...) rg_nn_train_at(RG_HERE, __VA_ARGS__)
#define rg_nn_checkpoint(...) rg_nn_checkpoint_at(RG_HERE, __VA_ARGS__)
#define rg_nn_params(...) rg_nn_params_at(RG_HERE, __VA_ARGS__)
#define rg_nn_save(...) rg_nn_save_at(RG_HERE, __VA_ARGS__)
#define rg_nn_load(...) rg_nn_load_at(RG_HERE, __VA_ARGS__)
#define rg_nn_cast(...) rg_nn_cast_at(RG_HERE, __VA_ARGS__)
#define rg_nn_to(...) rg_nn_to_at(RG_HERE, __VA_ARGS__)
#define rg_nn_precision(...) rg_nn_precision_at(RG_HERE, __VA_ARGS__)
#define rg_sgd(params, ...) rg_sgd_at(RG_HERE, params, (rg_optim_opts){.size_ = sizeof(rg_optim_opts), __VA_ARGS__})
#define rg_adam(params, ...) rg_adam_at(RG_HERE, params, (rg_optim_opts){.size_ = sizeof(rg_optim_opts), __VA_ARGS__})
#define rg_adamw(params, ...) rg_adamw_at(RG_HERE, params, (rg_optim_opts){.size_ = sizeof(rg_optim_opts), __VA_ARGS__})
#define rg_optim_step(...) rg_optim_step_at(RG_HERE, __VA_ARGS__)
#define rg_optim_set_lr(...) rg_optim_set_lr_at(RG_HERE, __VA_ARGS__)
#define rg_optim_scale(o, loss) rg_optim_scale_at(RG_HERE, o, RG_ARG(loss, #loss))
#define rg_optim_save(...) rg_optim_save_at(RG_HERE, __VA_ARGS__)
#define rg_optim_load(...) rg_optim_load_at(RG_HERE, __VA_ARGS__)
#define rg_clip_grad_norm(...) rg_clip_grad_norm_at(RG_HERE, __VA_ARGS__)
#define rg_clip_grad_value(...) rg_clip_grad_value_at(RG_HERE, __VA_ARGS__)
#define rg_load_npy(...) rg_load_npy_at(RG_HERE, __VA_ARGS__)
#define rg_save_npy(x, ...) rg_save_npy_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_load_idx(...) rg_load_idx_at(RG_HERE, __VA_ARGS__)
#define rg_file_open(...) rg_file_open_at(RG_HERE, __VA_ARGS__)
#define rg_file_get(...) rg_file_get_at(RG_HERE, __VA_ARGS__)
#define rg_save(...) rg_save_at(RG_HERE, __VA_ARGS__)
#define rg_loader_new(c, part, parts, fill, user, ...) rg_loader_new_at(RG_HERE, c, part, parts, fill, user, (rg_loader_opts){.size_ = sizeof(rg_loader_opts), __VA_ARGS__})
#define rg_loader_next(...) rg_loader_next_at(RG_HERE, __VA_ARGS__)
#define rg_world_open(c, ...) rg_world_open_at(RG_HERE, c, (rg_world_opts){.size_ = sizeof(rg_world_opts), __VA_ARGS__})
#define rg_world_group(...) rg_world_group_at(RG_HERE, __VA_ARGS__)
#define rg_all_reduce(x, ...) rg_all_reduce_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_reduce_scatter(x, ...) rg_reduce_scatter_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_all_gather(x, ...) rg_all_gather_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_broadcast(x, ...) rg_broadcast_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_all_to_all(x, ...) rg_all_to_all_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_send(x, ...) rg_send_at(RG_HERE, RG_ARG(x, #x), __VA_ARGS__)
#define rg_recv(like, ...) rg_recv_at(RG_HERE, RG_ARG(like, #like), __VA_ARGS__)
#define rg_barrier(...) rg_barrier_at(RG_HERE, __VA_ARGS__)
#define rg_nn_data_parallel(m, w, ...) rg_nn_data_parallel_at(RG_HERE, m, w, (rg_parallel_opts){.size_ = sizeof(rg_parallel_opts), __VA_ARGS__})
#define rg_nn_save_sharded(...) rg_nn_save_sharded_at(RG_HERE, __VA_ARGS__)
#define rg_nn_load_sharded(...) rg_nn_load_sharded_at(RG_HERE, __VA_ARGS__)
#define rg_nn_reduce_grads(...) rg_nn_reduce_grads_at(RG_HERE, __VA_ARGS__)
#define rg_schedule_stats(...) rg_schedule_stats_at(RG_HERE, __VA_ARGS__)
#define rg_stats(...) rg_stats_at(RG_HERE, __VA_ARGS__)
#define rg_memory_of(...) rg_memory_of_at(RG_HERE, __VA_ARGS__)
#define rg_memory_reset_peak(...) rg_memory_reset_peak_at(RG_HERE, __VA_ARGS__)
#define rg_collect(...) rg_collect_at(RG_HERE, __VA_ARGS__)
#define rg_memory_snapshot(...) rg_memory_snapshot_at(RG_HERE, __VA_ARGS__)
#define rg_kernels(...) rg_kernels_at(RG_HERE, __VA_ARGS__)
#define rg_kernels_reset(...) rg_kernels_reset_at(RG_HERE, __VA_ARGS__)
#define rg_benchmark(c, fn, user, out, ...) rg_benchmark_at(RG_HERE, c, fn, user, out, (rg_benchmark_opts){.size_ = sizeof(rg_benchmark_opts), __VA_ARGS__})
#define rg_machine_of(...) rg_machine_of_at(RG_HERE, __VA_ARGS__)
#define rg_profile_start(c, path, ...) rg_profile_start_at(RG_HERE, c, path, (rg_profile_opts){.size_ = sizeof(rg_profile_opts), __VA_ARGS__})
#define rg_profile_step(...) rg_profile_step_at(RG_HERE, __VA_ARGS__)
#define rg_profile_stop(...) rg_profile_stop_at(RG_HERE, __VA_ARGS__)
#define rg_profile_table(c, path, out, room, ...) rg_profile_table_at(RG_HERE, c, path, out, room, (rg_table_opts){.size_ = sizeof(rg_table_opts), __VA_ARGS__})
#endif
/* clang-format on */
#endif

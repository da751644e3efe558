/* outside_sample.h: written by tests/outside/run.py --sample; do not edit. 212 programs (assign 36, backward 29,
    forward 82, grad 27, grad2 24, jit 5, loop 9) with PyTorch's values.
 * outside.c runs them; docs/testing.md */
/* clang-format off */
/* 0: forward; mul add */
static void p0(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-8.632625, -12.028836, -11.458444, 24.324919, -1.8882678, -4.28246},
        RG_SHAPE(2, 3));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3, 5));
    {
        rg_tensor v1 = rg_mul(v0, 0.5);
        rg_tensor v3 = rg_add(v2, v2);
        see(v1, RG_F32, RG_SHAPE(2, 3), (double[]){-4.31631231308, -6.01441812515, -5.72922182083, 12.1624593735,
            -0.944133877754, -2.14123010635}, (double[]){9.8e-06, 8.2e-06, 8.2e-06, 1.6e-05, 6e-06, 8.3e-06});
        see(v3, RG_F32, RG_SHAPE(0, 3, 5), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 1: assign; mul add exp2 */
static void p1(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){18.106057061667144, -21.88489210505398, 3.149986639643963,
        12.05709419658892, 28.851465245939025, 20.771041034926114}, RG_SHAPE(2, 3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){1.592908, -0.94385564, -0.9993955, -0.11621971, 3.9145825, 4.342411,
        -5.2623963}, RG_SHAPE(7, 1, 1));
    {
        rg_tensor v1 = rg_mul(v0, -1.5);
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v4 = rg_exp2(v3);
        see(v1, RG_F64, RG_SHAPE(2, 3), (double[]){-27.159085592500716, 32.827338157580968, -4.7249799594659443,
            -18.085641294883381, -43.277197868908537, -31.156561552389171}, (double[]){4.2e-13, 3.5e-13, 1.5e-13,
            2.4e-13, 5.3e-13, 4e-13});
        see(v2, RG_F64, RG_SHAPE(2, 3), (double[]){-9.0530285308335721, 10.942446052526989, -1.5749933198219814,
            -6.0285470982944602, -14.425732622969512, -10.385520517463057}, (double[]){4.6e-13, 3.6e-13, 1.7e-13,
            3.6e-13, 5.9e-13, 5.2e-13});
        see(v4, RG_F32, RG_SHAPE(7, 1, 1), (double[]){3.01656783393, 0.519841730587, 0.500209551207, 0.922601979663,
            15.0801878086, 20.28597925, 0.0260531868334}, (double[]){1.1e-05, 8.3e-06, 8.4e-06, 8.7e-06, 2e-05,
            4.1e-05, 8e-06});
        seen(c);
    }
}

/* 2: grad; permute exp mul permute grad */
static void p2(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.8386853, -2.5279994, -0.015202869, -2.2246745, 1.08377, 0.85252416},
        RG_SHAPE(6));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-1.6065608, -1.6480161, 0.12762663, 1.9036713, -0.70497805,
        -0.19278666}, RG_SHAPE(6));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        rg_tensor v2 = rg_exp(v1);
        rg_tensor v3 = rg_mul(v0, v2);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(0));
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        see(v6, RG_F32, RG_SHAPE(6), (double[]){-105.415635241, 0.200996475806, 0.123789995376, -0.25202798841,
            -4.34210908484, -0.83769786329}, (double[]){0.00044, 5.7e-05, 5.7e-05, 5.7e-05, 6.5e-05, 5.8e-05});
        seen(c);
    }
}

/* 3: backward; log sum backward */
static void p3(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){8.506418}, RG_SHAPE(1)));
    {
        rg_tensor v1 = rg_log(v0);
        rg_tensor v2 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(1), (double[]){0.117558292242}, (double[]){4.3e-07});
        seen(c);
    }
}

/* 4: forward; log2 sum mul mul add */
static void p4(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){9.616683593678081, 24.110804042123974, 8.155478844304827,
        19.030722686752195, 1.2008222714233083, 8.11520763340928, 19.434323983026815, 8.638785386705706,
        29.927800498056964, 17.82041743342853, 4.773876813940922, 20.226581858902502, 29.51475238526643,
        13.769637267032675, 14.039712095056839, 13.155422598273063, 9.934302755686033, 14.645708930266112,
        0.19946657625794373, 19.882006591901373}, RG_SHAPE(4, 5));
    rg_tensor v3 = rg_from(c, RG_BOOL, (bool[]){1, 1, 0, 1}, RG_SHAPE(4));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-4.884153155665587}, RG_SHAPE());
    {
        rg_tensor v1 = rg_log2(v0);
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(1));
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor v6 = rg_mul(v5, v3);
        rg_tensor v7 = rg_add(0.25, v6);
        see(v4, RG_F64, RG_SHAPE(4), (double[]){15.399197979420222, 19.470865086317904, 0, 12.890020916052864},
            (double[]){1.5e-13, 1.7e-13, 4.6e-14, 1.3e-13});
        see(v7, RG_F64, RG_SHAPE(4), (double[]){-4.6341531556655866, -4.6341531556655866, 0.25, -4.6341531556655866},
            (double[]){4.2e-14, 5.5e-14, 1.8e-14, 7.2e-14});
        seen(c);
    }
}

/* 5: backward; expm1 sum sum mul sum backward */
static void p5(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-3.8945158, -0.6135835}, RG_SHAPE(2)));
    rg_tensor v4 = rg_param(rg_from(c, RG_F32, (float[]){-29.173948}, RG_SHAPE(1, 1)));
    {
        rg_tensor v1 = rg_expm1(v0);
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_tensor v3 = rg_sum(v2, .keep = true);
        rg_tensor v5 = rg_mul(v4, v3);
        rg_tensor v6 = rg_sum(v5);
        rg_zero_grad(c);
        rg_backward(v6);
        rg_tensor v7 = rg_param_grad(v0);
        rg_tensor v8 = rg_param_grad(v4);
        see(v7, RG_F32, RG_SHAPE(2), (double[]){-0.593784022829, -15.7949872016}, (double[]){2.2e-05, 7.6e-05});
        see(v8, RG_F32, RG_SHAPE(1, 1), (double[]){-1.43823951895}, (double[]){7.9e-06});
        seen(c);
    }
}

/* 6: backward; realize mul backward */
static void p6(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F16, (uint16_t[]){0x3ff9, 0xc05b, 0x3f20, 0xc044, 0xbdb8, 0xbcb3, 0xa165,
        0xbfc5, 0x2f6e, 0xb5c8, 0xb95f, 0x40a9}, RG_SHAPE(4, 3)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F16, (uint16_t[]){0xc864}, RG_SHAPE()));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){7.44431}, RG_SHAPE()));
    {
        rg_realize(v0);
        rg_tensor v3 = rg_mul(v2, v1);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v1);
        rg_tensor v5 = rg_param_grad(v2);
        see(v4, RG_F16, RG_SHAPE(), (double[]){7.44431018829}, (double[]){0.052});
        see(v5, RG_F32, RG_SHAPE(), (double[]){-8.78125}, (double[]){2.8e-05});
        see(v3, RG_F32, RG_SHAPE(), (double[]){-65.370348841}, (double[]){0.00015});
        seen(c);
    }
}

/* 7: loop; realize sum sin permute */
static void p7(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x3d51, 0x3d50, 0x41aa, 0xbc92, 0xbded, 0x3c5d, 0xbfac, 0xbd74,
        0xb1fb, 0xb116, 0xc155, 0xb66d, 0xbd5d, 0x41c4, 0x3fc0, 0xbc62}, RG_SHAPE(4, 4));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){0.25, 1.75}, RG_SHAPE(2, 1, 1));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-4.763486141946407}, RG_SHAPE(1));
    {
        rg_realize(v0);
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_tensor v4 = rg_sin(v3);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(-1));
        see(v2, RG_F64, RG_SHAPE(1, 1, 1), (double[]){2}, (double[]){1.3e-14});
        see(v5, RG_F64, RG_SHAPE(1), (double[]){0.99869482405306687}, (double[]){5.9e-15});
        seen(c);
    }
    {
        rg_realize(v0);
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_tensor v4 = rg_sin(v3);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(-1));
        see(v2, RG_F64, RG_SHAPE(1, 1, 1), (double[]){2}, (double[]){3e-14});
        see(v5, RG_F64, RG_SHAPE(1), (double[]){0.99869482405306687}, (double[]){8.7e-15});
        seen(c);
    }
    {
        rg_realize(v0);
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_tensor v4 = rg_sin(v3);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(-1));
        see(v2, RG_F64, RG_SHAPE(1, 1, 1), (double[]){2}, (double[]){1.9e-14});
        see(v5, RG_F64, RG_SHAPE(1), (double[]){0.99869482405306687}, (double[]){8.7e-15});
        seen(c);
    }
}

/* 8: forward; add mul sum sum log1p */
static void p8(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.7754998, -1.0192543, -2.8900712}, RG_SHAPE(3));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){2.9334273, -1.6798854, 1.6897923}, RG_SHAPE(3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-22.367598}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-0.383991, 18.721165, 21.439592, 15.715731, 18.28514, 5.4977727,
        -0.021904413, 11.699365, 3.6425698}, RG_SHAPE(3, 1, 3));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor v5 = rg_sum(v4, .keep = true);
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v8 = rg_log1p(v7);
        see(v4, RG_F32, RG_SHAPE(3), (double[]){-127.694985206, 60.3732709402, 26.8473549316}, (double[]){0.00024,
            0.0002, 0.00013});
        see(v6, RG_F32, RG_SHAPE(1), (double[]){-40.4743593343}, (double[]){0.00025});
        see(v8, RG_F32, RG_SHAPE(3, 1, 3), (double[]){-0.484493710095, 2.98169240947, 3.11082691478, 2.81635023218,
            2.95933480366, 1.87145945566, -0.0221478761538, 2.54155196561, 1.5352680449}, (double[]){2.3e-06, 3.7e-06,
            5.6e-06, 5.2e-06, 5.5e-06, 2.4e-06, 1.6e-06, 3.6e-06, 2.5e-06});
        seen(c);
    }
}

/* 9: forward; cos */
static void p9(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-10.033519}, RG_SHAPE());
    {
        rg_tensor v1 = rg_cos(v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){-0.820368705149}, (double[]){4.9e-06});
        seen(c);
    }
}

/* 10: grad2; add sum tan sum grad grad */
static void p10(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.76125765}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0.692311}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){1.6198713}, RG_SHAPE());
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v2 = rg_sum(v0, .keep = true);
        rg_tensor v3 = rg_tan(v2);
        rg_tensor v4 = rg_sum(v0, .keep = true);
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        rg_tensor o8[1];
        rg_grad(v6, RG_TENSORS(v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v6, RG_F32, RG_SHAPE(), (double[]){0.692310988903}, (double[]){1.6e-06});
        see(v4, RG_F32, RG_SHAPE(), (double[]){-0.761257648468}, (double[]){1.2e-06});
        seen(c);
    }
}

/* 11: forward; realize_all sum add add */
static void p11(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xbf92, 0xbc0b, 0xb0a3, 0xb95f, 0x31f3, 0xc1e5, 0x40f5, 0x3c4a,
        0x3906, 0xc1ca, 0x3eef, 0x3c44}, RG_SHAPE(6, 2));
    {
        rg_realize_all(RG_TENSORS(v0, v0, v0));
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v2 = rg_add(1, v1);
        rg_tensor v3 = rg_add(v1, v1);
        see(v2, RG_F16, RG_SHAPE(), (double[]){-1.39697265625}, (double[]){0.027});
        see(v3, RG_F16, RG_SHAPE(), (double[]){-4.7939453125}, (double[]){0.086});
        seen(c);
    }
}

/* 12: assign; mul assign add permute assign_slice */
static void p12(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.47525275}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0.11546338}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-0.5249253581306608}, RG_SHAPE(1));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0));
    {
        rg_tensor v1 = rg_mul(v0, 3);
        rg_assign(v0, v0);
        rg_tensor v2 = v0;
        rg_tensor v4 = rg_add(v3, v2);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(0));
        rg_assign_slice(v5, v7, RG_SLICES((rg_range){.start = -2, .stop = -1, .step = 2}));
        rg_tensor v8 = v5;
        see(v1, RG_F32, RG_SHAPE(), (double[]){-1.42575824261}, (double[]){2.2e-06});
        see(v4, RG_F32, RG_SHAPE(), (double[]){-0.35978936404}, (double[]){5.1e-07});
        see(v6, RG_F64, RG_SHAPE(1), (double[]){-0.52492535813066077}, (double[]){8.2e-16});
        see(v8, RG_F64, RG_SHAPE(1), (double[]){-0.52492535813066077}, (double[]){8.2e-16});
        seen(c);
    }
}

/* 13: grad; cosh grad */
static void p13(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.9159429064282545, -0.17066230685325667, 2.3999131115558203},
        RG_SHAPE(1, 3));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){1.4191495646894823, -0.9449112799399875, -1.138566545759124},
        RG_SHAPE(1, 3));
    {
        rg_tensor v1 = rg_cosh(v0);
        rg_tensor o3[1];
        rg_grad(v1, RG_TENSORS(v0), o3, .seed = v2, .unused_ok = true);
        rg_tensor v3 = o3[0];
        see(v3, RG_F64, RG_SHAPE(1, 3), (double[]){4.715932133898221, 0.16204468282536341, -6.2231159984335154},
            (double[]){1.3e-13, 4.3e-14, 2e-13});
        seen(c);
    }
}

/* 14: forward; sinh add tanh permute mul */
static void p14(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I32, (int32_t[]){2}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0xc010, 0xbf00}, RG_SHAPE(2, 1));
    rg_tensor v6 = rg_from(c, RG_I32, (int32_t[]){12, -2}, RG_SHAPE(1, 2));
    {
        rg_tensor v1 = rg_sinh(v0);
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v3 = rg_tanh(v0);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(1, 0));
        rg_tensor v7 = rg_mul(v6, v5);
        see(v2, RG_F32, RG_SHAPE(), (double[]){5.62686040785}, (double[]){1.7e-05});
        see(v3, RG_F32, RG_SHAPE(), (double[]){0.964027580076}, (double[]){1.3e-06});
        see(v7, RG_BF16, RG_SHAPE(1, 2), (double[]){-27, 1}, (double[]){1.4, 0.27});
        seen(c);
    }
}

/* 15: backward; acos realize_all sum backward */
static void p15(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){0.1254545}, RG_SHAPE(1)));
    {
        rg_tensor v1 = rg_acos(v0);
        rg_realize_all(RG_TENSORS(v1, v0, v0));
        rg_tensor v2 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(1), (double[]){-1.00796354274}, (double[]){2e-06});
        see(v2, RG_F32, RG_SHAPE(), (double[]){1.44501038913}, (double[]){2.4e-06});
        seen(c);
    }
}

/* 16: grad; asin sum log10 grad */
static void p16(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.5853108361178659}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){27.939011882884483, 8.68970051675493, 7.062182707122732,
        7.568457451055811, 12.84557449838627}, RG_SHAPE(5, 1));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){1.6754759231394627, -0.29065009465596026, 1.7600040787936253,
        -1.9491833981075328, -1.1170306082224197}, RG_SHAPE(5, 1));
    {
        rg_tensor v1 = rg_asin(v0);
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v4 = rg_log10(v3);
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v3), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        see(v6, RG_F64, RG_SHAPE(5, 1), (double[]){0.026044226296599481, -0.014526131485240144, 0.10823283554762381,
            -0.11184836533598271, -0.037765553368514067}, (double[]){8.1e-16, 7.5e-16, 1.7e-15, 1.3e-15, 7.3e-16});
        seen(c);
    }
}

/* 17: assign; sum asinh realize_all mul mul */
static void p17(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x3f23, 0x3f3a, 0xbf95}, RG_SHAPE(3));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){22.054564, -0.9980926, 25.591505}, RG_SHAPE(3));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v2 = rg_asinh(v1);
        rg_realize_all(RG_TENSORS(v1, v0, v2));
        rg_tensor v3 = rg_mul(v2, 0.5);
        rg_tensor v5 = rg_mul(v4, v4);
        see(v1, RG_BF16, RG_SHAPE(1), (double[]){0.19921875}, (double[]){0.013});
        see(v3, RG_BF16, RG_SHAPE(1), (double[]){0.0989619871073}, (double[]){0.013});
        see(v5, RG_F32, RG_SHAPE(3), (double[]){486.403772161, 0.996188821731, 654.925130758}, (double[]){0.00078,
            0.0003, 0.00088});
        seen(c);
    }
}

/* 18: forward; acosh mul */
static void p18(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){29.448643, 2.4070704}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_acosh(v0);
        rg_tensor v2 = rg_mul(v0, v1);
        see(v2, RG_F32, RG_SHAPE(2), (double[]){120.018137839, 3.67153894224}, (double[]){0.0002, 6.4e-05});
        seen(c);
    }
}

/* 19: grad; atanh mul atan atan grad */
static void p19(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.08283705, 0.80075765, -0.68313175, -0.6629904, -0.2318218,
        -0.8068237}, RG_SHAPE(2, 1, 3));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-18.10906}, RG_SHAPE(1, 1));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-0.85181135, 1.3877013, -0.10592672, -1.1597757, -1.4927394,
        0.19297822}, RG_SHAPE(2, 1, 3));
    {
        rg_tensor v1 = rg_atanh(v0);
        rg_tensor v3 = rg_mul(v2, v0);
        rg_tensor v4 = rg_atan(v1);
        rg_tensor v5 = rg_atan(v0);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v2, v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F32, RG_SHAPE(1, 1), (double[]){0}, (double[]){2.5e-07});
        see(v8, RG_F32, RG_SHAPE(2, 1, 3), (double[]){-0.846006074918, 0.845534025664, -0.0722226505988,
            -0.805648078553, -1.41660896185, 0.11688817397}, (double[]){2.1e-06, 2.3e-06, 9e-07, 2.3e-06, 2.8e-06,
            1e-06});
        seen(c);
    }
}

/* 20: grad; erf sqrt grad */
static void p20(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x4152, 0x4122, 0xc3e9, 0x411d, 0x3d3f, 0x42aa, 0xbb66, 0xc0f3,
        0x3e80, 0xc1d0, 0xc363, 0xb9d0, 0xc377, 0x40ba, 0xc313}, RG_SHAPE(3, 5));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){21.357271, 7.6910386, 18.876507, 11.955726, 20.101496, 17.161402},
        RG_SHAPE(1, 6, 1));
    rg_tensor v4 = rg_from(c, RG_F16, (uint16_t[]){0x3aa1, 0x3fa3, 0x3f77, 0xbacf, 0xb6e5, 0xa7be, 0x3a2f, 0xbd9d,
        0x3945, 0x3ae0, 0xbcf4, 0x3516, 0x38d4, 0x3e43, 0x39f5}, RG_SHAPE(3, 5));
    {
        rg_tensor v1 = rg_erf(v0);
        rg_tensor v3 = rg_sqrt(v2);
        rg_tensor o5[2];
        rg_grad(v1, RG_TENSORS(v2, v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0], v6 = o5[1];
        see(v5, RG_F32, RG_SHAPE(1, 6, 1), (double[]){0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07});
        see(v6, RG_F16, RG_SHAPE(3, 5), (double[]){0.000789863227133, 0.0029706183904, 3.3876790889e-07,
            -0.00139217920184, -0.0870587860464, -5.14462491365e-07, 0.370825603373, -0.00346837796095,
            0.0530063854597, 0.000208190564338, -1.66381582153e-06, 0.211565597965, 6.067347276e-07, 0.00662996547654,
            3.09652578272e-06}, (double[]){0.00024, 0.00026, 0.00024, 0.00025, 0.0011, 0.00024, 0.005, 0.00027,
            0.00079, 0.00024, 0.00024, 0.0026, 0.00024, 0.00029, 0.00024});
        seen(c);
    }
}

/* 21: forward; add sigmoid */
static void p21(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x4000, 0x3f00}, RG_SHAPE(1, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.265982}, RG_SHAPE(1, 1));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_sigmoid(v2);
        see(v3, RG_F32, RG_SHAPE(1, 2), (double[]){0.963243176998, 0.953290941618}, (double[]){2.2e-06, 1.7e-06});
        seen(c);
    }
}

/* 22: forward; mul rsqrt permute */
static void p22(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){4.572957130281779, -10.264323910740853, -19.808067528228847,
        15.6083276879139, -22.466912305888425}, RG_SHAPE(5, 1));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){23.2637906930891, 25.323269166763147, 19.996613159281225,
        21.82149567729949, 17.60159912752255, 2.5326538093582722, 17.96227051306234, 26.99435502551588,
        4.49173981733771, 12.598967000949154, 20.905510900975948, 11.759984578557944, 28.91063182708371,
        12.064684160242745, 4.870162398589624, 3.4752544562702274, 23.149387060705745, 22.843322418790766,
        1.0229294924503745, 4.369661240092828}, RG_SHAPE(5, 4));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_rsqrt(v2);
        rg_tensor v4 = rg_permute(v1, RG_SHAPE(0, 1));
        see(v1, RG_F64, RG_SHAPE(5, 1), (double[]){20.911936915394961, 105.3563453446064, 392.35953920287403,
            243.61989321329966, 504.76214856048074}, (double[]){1.3e-12, 1.6e-12, 4.5e-12, 3.5e-12, 4.3e-12});
        see(v3, RG_F64, RG_SHAPE(5, 4), (double[]){0.20732885970275541, 0.19871933006845405, 0.22362573317012521,
            0.21407095315588504, 0.23835481915532311, 0.62836514226970164, 0.23594967511910006, 0.1924702109562581,
            0.47183777149841255, 0.2817296338146425, 0.21871048679753666, 0.29160611295838212, 0.1859821262385617,
            0.2879002363911829, 0.45313569919484586, 0.53642214143636036, 0.20784053506370764, 0.20922827052581411,
            0.98872872111390497, 0.47838341559903902}, (double[]){3.4e-15, 2.3e-15, 4e-15, 2.8e-15, 2.5e-15, 4.2e-15,
            3.8e-15, 2.4e-15, 6e-15, 3.7e-15, 2.9e-15, 4e-15, 2.6e-15, 3.6e-15, 4.5e-15, 5.8e-15, 2.9e-15, 2.8e-15,
            7e-15, 4.7e-15});
        see(v4, RG_F64, RG_SHAPE(5, 1), (double[]){20.911936915394961, 105.3563453446064, 392.35953920287403,
            243.61989321329966, 504.76214856048074}, (double[]){1.3e-12, 1.6e-12, 4.5e-12, 3.5e-12, 4.3e-12});
        seen(c);
    }
}

/* 23: grad2; sum mul silu logsigmoid grad grad */
static void p23(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.844731}, RG_SHAPE(1));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){1.431574}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){0.8865087}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v2 = rg_mul(1, v1);
        rg_tensor v3 = rg_silu(v2);
        rg_tensor v4 = rg_logsigmoid(v3);
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        rg_tensor o8[1];
        rg_grad(v6, RG_TENSORS(v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F32, RG_SHAPE(1), (double[]){-0.0216170015472}, (double[]){5.2e-07});
        seen(c);
    }
}

/* 24: grad2; gelu_tanh add grad grad */
static void p24(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.4866335798472008, -2.4604720487707987}, RG_SHAPE(2, 1));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-1.3774185127586396, -1.3760733460796188, 0.6569145067109785,
        -1.8622355329762987, -1.1933130561922125, 2.2200116228571103, -2.7339149854985667, -2.411313017239073,
        0.42966068982236116, -1.1524599450772897, -0.7494211876223447, 1.0490516526459892}, RG_SHAPE(1, 2, 2, 3));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-1.015108317969942, -0.4485235202121891}, RG_SHAPE(2, 1));
    rg_tensor v6 = rg_from(c, RG_F64, (double[]){-0.6211360517652205, -1.3872401062559203}, RG_SHAPE(2, 1));
    {
        rg_tensor v1 = rg_gelu_tanh(v0);
        rg_tensor v3 = rg_add(v2, v1);
        rg_tensor o5[1];
        rg_grad(v1, RG_TENSORS(v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0];
        rg_tensor o7[1];
        rg_grad(v5, RG_TENSORS(v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0];
        see(v7, RG_F64, RG_SHAPE(2, 1), (double[]){0.39361610524759078, -0.049837220536198962}, (double[]){9.3e-15,
            5.6e-15});
        see(v1, RG_F64, RG_SHAPE(2, 1), (double[]){0.33417562495131853, -0.016644986002748767}, (double[]){5.8e-15,
            2.3e-15});
        seen(c);
    }
}

/* 25: forward; add mul add gelu add */
static void p25(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U8, (uint8_t[]){2, 1}, RG_SHAPE(1, 1, 2));
    rg_tensor v1 = rg_scalar(c, RG_F64, 4.8577847796649785);
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v3 = rg_mul(v2, 0.5);
        rg_tensor v4 = rg_add(v3, 3);
        rg_tensor v5 = rg_gelu(v3);
        rg_tensor v6 = rg_add(v5, v4);
        see(v3, RG_F64, RG_SHAPE(1, 1, 2), (double[]){3.4288923898324892, 2.9288923898324892}, (double[]){4.1e-14,
            5.6e-14});
        see(v6, RG_F64, RG_SHAPE(1, 1, 2), (double[]){9.8567457399451204, 8.8528031412874242}, (double[]){2.3e-13,
            1.9e-13});
        seen(c);
    }
}

/* 26: assign; softplus */
static void p26(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-8.436065, 0.15453471, 6.9490767, -1.09215, -6.1253157, 3.6139383,
        7.989892, -6.2463117, -2.3145094, 8.486121, 3.8538535, 3.3602865, -6.821298, -8.975842, -5.527813, -4.839638,
        7.071719, 4.425317, 3.504562, 2.966886, -5.9272776, 6.557118, 6.145559, -7.287893, 5.568651}, RG_SHAPE(1, 5,
        5));
    {
        rg_tensor v1 = rg_softplus(v0);
        see(v1, RG_F32, RG_SHAPE(1, 5, 5), (double[]){0.000216878523356, 0.773396693347, 6.9500357132, 0.289301570748,
            0.0021844131416, 3.64052721074, 7.99023081919, 0.00193571274418, 0.0942320091432, 8.48632746835,
            3.87482980777, 3.39442246438, 0.0010897107039, 0.000126419389983, 0.00396679422487, 0.00787879569397,
            7.07256758228, 4.43721615016, 3.53417889551, 3.01706887142, 0.00266218263913, 6.55853690405,
            6.14769951916, 0.000683533695353, 5.57245956179}, (double[]){3.6e-06, 4.4e-06, 1.6e-05, 3.9e-06, 3.6e-06,
            7.3e-06, 8.7e-06, 3.6e-06, 3.8e-06, 1.2e-05, 7.4e-06, 6.1e-06, 3.6e-06, 3.6e-06, 3.6e-06, 3.6e-06,
            1.4e-05, 8.1e-06, 8.8e-06, 6.4e-06, 3.6e-06, 1.6e-05, 1.6e-05, 3.6e-06, 8.4e-06});
        seen(c);
    }
}

/* 27: grad; add recip grad */
static void p27(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(1, 0, 3));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(1, 0, 3));
    {
        rg_tensor v1 = rg_add(0.5, v0);
        rg_tensor v2 = rg_recip(v0);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        see(v4, RG_F64, RG_SHAPE(1, 0, 3), (double[]){0}, (double[]){0});
        see(v2, RG_F64, RG_SHAPE(1, 0, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 28: grad2; softsign add mul grad grad */
static void p28(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-8.17192104842856, 0.4279544229473231, -3.908669518952385,
        0.46985153594951967, 7.227294623007182, 2.671393403193859, 3.878884676282482, 2.440543694800059,
        -0.35665738506475364, 7.34114767859386, 7.406356044294451, -3.1052669753159945, 3.347924070252901,
        -0.612516047155351, -5.88940514473129, 0.4732187483159578, 8.401978166809986, -6.877313830038955}, RG_SHAPE(2,
        3, 3));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){0.6122173409942051}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){0.5941409898542549, 0.5899889971263019, -0.10928333007190316,
        0.21529891143210955, 0.5093085474094381, -0.43704808571620424, -0.7520422238497995, -0.3353951420885024,
        0.44876159809559457, 0.14193448253760188, -0.3204369050115825, -0.3766310071442849, 1.7902887285176492,
        -1.029381846954017, -0.6662074267609728, 1.8951440698329853, 1.9606463519437858, 1.2022000885054074},
        RG_SHAPE(2, 3, 3));
    rg_tensor v8 = rg_from(c, RG_F64, (double[]){-0.7908738183125448, -1.9050358960256624, 0.1558347508740705,
        1.96760977780561, -1.7895181747354298, -1.4807788114721379, -1.0411919099294278, -0.2556415767195368,
        -1.5947264099170644, 0.8888566827152418, 1.705575838745041, -0.940140285376525, 1.6124605683940745,
        1.5248485688900457, -1.1934442076060434, 1.0719731395546486, 0.825661207804194, 1.5401129946574237},
        RG_SHAPE(2, 3, 3));
    {
        rg_tensor v1 = rg_softsign(v0);
        rg_tensor v3 = rg_add(v1, v2);
        rg_tensor v4 = rg_mul(0.25, v0);
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v2, v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        rg_tensor o9[2];
        rg_grad(v7, RG_TENSORS(v2, v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v10, RG_F64, RG_SHAPE(2, 3, 3), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
            (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16});
        seen(c);
    }
}

/* 29: forward; mish mul add */
static void p29(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BOOL, (bool[]){1, 0, 0, 0, 0}, RG_SHAPE(1, 5, 1));
    {
        rg_tensor v1 = rg_mish(v0);
        rg_tensor v2 = rg_mul(v1, 2.0);
        rg_tensor v3 = rg_add(v1, v2);
        see(v1, RG_F32, RG_SHAPE(1, 5, 1), (double[]){0.865098388267, 0, 0, 0, 0}, (double[]){1.1e-06, 2.8e-07,
            2.8e-07, 2.8e-07, 2.8e-07});
        see(v3, RG_F32, RG_SHAPE(1, 5, 1), (double[]){2.5952951648, 0, 0, 0, 0}, (double[]){4.5e-06, 9.4e-07, 9.4e-07,
            9.4e-07, 9.4e-07});
        seen(c);
    }
}

/* 30: grad; add selu sum grad */
static void p30(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.8714804, 0.80416644, 1.3212869, -1.5267402, -2.648926, -0.5711557,
        -1.318438}, RG_SHAPE(7));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-2.322718}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){1.6198635}, RG_SHAPE());
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_selu(v2);
        rg_tensor v4 = rg_sum(v3);
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v0, v1), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        see(v6, RG_F32, RG_SHAPE(7), (double[]){0.667202085975, 0.62376831438, 1.04617871838, 0.0606350057418,
            0.0197407801105, 0.157662527252, 0.0746771771767}, (double[]){1.6e-06, 1.9e-06, 1.9e-06, 8.4e-07, 6.9e-07,
            1.2e-06, 7.7e-07});
        see(v7, RG_F32, RG_SHAPE(), (double[]){2.64986460902}, (double[]){7.7e-06});
        seen(c);
    }
}

/* 31: backward; add sum realize hardsigmoid add sum backward */
static void p31(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-1.9523415330358227, -2.9110004313086675,
        1.0019083867262442, 0.6776490013140499, -0.4822926997606305, 0.6084289735468387, -2.8558249747674886,
        -1.0083077869064152, 1.511259382242038}, RG_SHAPE(3, 3)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F64, (double[]){-0.028727448799162225, -0.5770203005490608,
        -0.1759758942442584, -2.573669754720403, -0.5047198136715192, -1.00121094910134, -2.224241426714559,
        -2.12656895873143, -1.3642660816153667}, RG_SHAPE(1, 3, 3)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F64, (double[]){0.0831426473779846, -1.7994553873837291,
        -1.0729384791741374, 2.4192422101014337, 2.0095223335867267, -0.5683435498577278, 1.4763450078761569,
        -1.456282473725366, -0.9937811820543505, 2.563374483548108, -1.733837112374132, 1.4696552366003024,
        2.8153184262694264, -0.9366582286619476, 1.2396760315726798}, RG_SHAPE(3, 5, 1)));
    rg_tensor v6 = rg_param(rg_from(c, RG_F64, (double[]){-2.6664431859530224}, RG_SHAPE(1)));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(0), .keep = true);
        rg_realize(v0);
        rg_tensor v4 = rg_hardsigmoid(v3);
        rg_tensor v7 = rg_add(v5, v6);
        rg_tensor v8 = rg_sum(v4);
        rg_zero_grad(c);
        rg_backward(v8);
        rg_tensor v9 = rg_param_grad(v0);
        rg_tensor v10 = rg_param_grad(v1);
        see(v9, RG_F64, RG_SHAPE(3, 3), (double[]){0.16666666666666666, 0, 0.16666666666666666, 0.16666666666666666,
            0.16666666666666666, 0.16666666666666666, 0, 0, 0.16666666666666666}, (double[]){3.6e-15, 1.3e-15,
            4.5e-15, 4.4e-15, 4.1e-15, 4.1e-15, 1.3e-15, 1.3e-15, 3.6e-15});
        see(v10, RG_F64, RG_SHAPE(1, 3, 3), (double[]){0.16666666666666666, 0, 0.16666666666666666,
            0.16666666666666666, 0.16666666666666666, 0.16666666666666666, 0, 0, 0.16666666666666666},
            (double[]){2.6e-15, 1.3e-15, 4.5e-15, 3.1e-15, 2.6e-15, 4.9e-15, 1.3e-15, 1.3e-15, 5.3e-15});
        seen(c);
    }
}

/* 32: forward; add mul quick_gelu mul */
static void p32(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.5, 1.0}, RG_SHAPE(2, 1));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v2 = rg_mul(v1, v1);
        rg_tensor v3 = rg_quick_gelu(v2);
        rg_tensor v4 = rg_mul(v3, v3);
        see(v4, RG_F64, RG_SHAPE(2, 1), (double[]){0.71537047766988771, 15.964701696672577}, (double[]){1.9e-13,
            8.1e-13});
        seen(c);
    }
}

/* 33: forward; neg */
static void p33(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.75, 0.75}, RG_SHAPE(1, 2));
    {
        rg_tensor v1 = rg_neg(v0);
        see(v1, RG_F32, RG_SHAPE(1, 2), (double[]){0.75, -0.75}, (double[]){2.1e-06, 1.3e-06});
        seen(c);
    }
}

/* 34: assign; hardswish permute sum */
static void p34(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.3038912}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_hardswish(v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-1));
        see(v3, RG_F32, RG_SHAPE(), (double[]){-0.267293161265}, (double[]){8.5e-07});
        seen(c);
    }
}

/* 35: grad2; mul square sum grad grad */
static void p35(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){26.558435}, RG_SHAPE(1));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-7.0081997}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){5.106528, 16.291962, 9.021576, 1.3122917, 21.166872, 2.0640645,
        -27.51018, -10.020002, 10.020466, -18.20877, 16.365292, 20.533081, 4.1592717, -7.8062496}, RG_SHAPE(7, 2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-0.40915146}, RG_SHAPE());
    rg_tensor v9 = rg_from(c, RG_F32, (float[]){1.1092896}, RG_SHAPE(1));
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor v4 = rg_square(v3);
        rg_tensor v5 = rg_sum(v0);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v0, v1), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        rg_tensor o10[2];
        rg_grad(v7, RG_TENSORS(v0, v1), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1];
        see(v10, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v11, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v7, RG_F32, RG_SHAPE(1), (double[]){-0.409151464701}, (double[]){1.3e-06});
        see(v8, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v5, RG_F32, RG_SHAPE(), (double[]){26.5584354401}, (double[]){3.7e-05});
        seen(c);
    }
}

/* 36: forward; sign sign add */
static void p36(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.4110541, -2.4326415, 1.42337, 0.6185338, 2.4565282, -1.1293657},
        RG_SHAPE(6));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-2.0}, RG_SHAPE());
    {
        rg_tensor v1 = rg_sign(v0);
        rg_tensor v2 = rg_sign(v1);
        rg_tensor v4 = rg_add(v2, v3);
        see(v4, RG_F64, RG_SHAPE(6), (double[]){-3, -3, -1, -1, -1, -3}, (double[]){4.9e-06, 2.9e-06, 1.6e-06,
            1.6e-06, 2.1e-06, 2.9e-06});
        seen(c);
    }
}

/* 37: grad; permute abs mul mul mul grad */
static void p37(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0));
    rg_tensor v4 = rg_from(c, RG_F16, (uint16_t[]){0x4edf, 0x4cae, 0xc908, 0x4c11}, RG_SHAPE(4));
    rg_tensor v7 = rg_from(c, RG_F16, (uint16_t[]){0x3d6e, 0x396e, 0xb41e, 0x2d7d}, RG_SHAPE(4));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_abs(v0);
        rg_tensor v3 = rg_mul(v2, v2);
        rg_tensor v5 = rg_mul(v4, v4);
        rg_tensor v6 = rg_mul(v4, v4);
        rg_tensor o8[2];
        rg_grad(v6, RG_TENSORS(v0, v4), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        see(v8, RG_F64, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v9, RG_F16, RG_SHAPE(4), (double[]){74.6157836914, 25.4092407227, 5.17864990234, 2.78969764709},
            (double[]){1, 0.51, 0.2, 0.16});
        see(v6, RG_F16, RG_SHAPE(4), (double[]){755.390869141, 350.391601562, 101.25390625, 264.570556641},
            (double[]){8.9, 4.1, 2.2, 3.6});
        seen(c);
    }
}

/* 38: assign; relu6 assign_slice */
static void p38(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.8695936, -1.5886467, -2.125088, -1.9034452}, RG_SHAPE(2, 2));
    rg_tensor v2 = rg_scalar(c, RG_F32, 4.196889400482178);
    {
        rg_tensor v1 = rg_relu6(v0);
        rg_assign_slice(v1, v2, RG_SLICES((rg_range){.start = 0, .stop = RG_END, .step = 0}));
        rg_tensor v3 = v1;
        see(v3, RG_F32, RG_SHAPE(2, 2), (double[]){4.19688940048, 4.19688940048, 4.19688940048, 4.19688940048},
            (double[]){2.1e-06, 2.1e-06, 2.1e-06, 2.1e-06});
        seen(c);
    }
}

/* 39: grad2; relu relu relu permute grad grad */
static void p39(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.286248, -0.47381243, 1.1188622, -2.425527, -1.4819096, 0.50061756,
        2.3990746, -0.41392368, 2.782892, -2.6977918}, RG_SHAPE(5, 1, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.3440342}, RG_SHAPE(1, 1));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-0.99112177, 0.10444708, -0.33076623, -1.9514977, 0.9314802,
        1.4843862, -0.38209796, 0.60664004, -1.782747, -0.57051474}, RG_SHAPE(5, 1, 2));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){-1.5227505, -0.4049088, 0.23178704, -1.9586884, 0.4136856, 0.40513313,
        -0.8514812, -1.4822403, 1.6473552, 1.1135225}, RG_SHAPE(5, 1, 2));
    {
        rg_tensor v1 = rg_relu(v0);
        rg_tensor v3 = rg_relu(v2);
        rg_tensor v4 = rg_relu(v3);
        rg_tensor v5 = rg_permute(v2, RG_SHAPE(-1, 0));
        rg_tensor o7[1];
        rg_grad(v1, RG_TENSORS(v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0];
        rg_tensor o9[1];
        rg_grad(v7, RG_TENSORS(v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0];
        see(v9, RG_F32, RG_SHAPE(5, 1, 2), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v1, RG_F32, RG_SHAPE(5, 1, 2), (double[]){2.28624796867, 0, 1.1188621521, 0, 0, 0.500617563725,
            2.39907455444, 0, 2.78289198875, 0}, (double[]){3.6e-06, 1.1e-06, 2.4e-06, 1.1e-06, 1.1e-06, 1.7e-06,
            3.7e-06, 1.1e-06, 3.8e-06, 1.1e-06});
        seen(c);
    }
}

/* 40: backward; floor permute mul sum permute sum backward */
static void p40(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-1.2088999, 1.5835645, 0.6687974, 0.5456569, -2.1758668,
        -2.4486077, -1.4560236, -2.4942431, -1.3351333, -2.551416, -0.7212253, -2.6322265, 0.2806273, -1.8773713,
        2.9846394, -0.1449464, 0.12112815, 2.566817, 2.4790127, -1.7066008, -1.8515955, -0.089093246, -2.445527,
        2.0496402, 0.532482, 1.0798994, -1.6847812, -2.3876376, 1.2806894, -0.99929374}, RG_SHAPE(3, 5, 2)));
    rg_tensor v3 = rg_param(rg_from(c, RG_F32, (float[]){-21.59587, 18.924376, -11.507666, 22.607016, -11.72851,
        27.536703, 28.10742, -16.593315, 15.375405, 7.466996, 19.688004, -26.765257, -14.73614, -6.9438124,
        -10.366858}, RG_SHAPE(5, 3, 1)));
    rg_tensor v6 = rg_param(rg_from(c, RG_F32, (float[]){-0.26936617, -0.16888796, 0.98900217, 1.263597, -1.2331865,
        2.534562}, RG_SHAPE(2, 3)));
    {
        rg_tensor v1 = rg_floor(v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(1, 0, 2));
        rg_tensor v4 = rg_mul(v3, v2);
        rg_tensor v5 = rg_sum(v4);
        rg_tensor v7 = rg_permute(v6, RG_SHAPE(0, -1));
        rg_tensor v8 = rg_sum(v7);
        rg_zero_grad(c);
        rg_backward(v8);
        rg_tensor v9 = rg_param_grad(v6);
        see(v9, RG_F32, RG_SHAPE(2, 3), (double[]){1, 1, 1, 1, 1, 1}, (double[]){2e-06, 2e-06, 2.5e-06, 1.5e-06,
            1.5e-06, 2e-06});
        see(v8, RG_F32, RG_SHAPE(), (double[]){3.1157206744}, (double[]){5.6e-06});
        seen(c);
    }
}

/* 41: grad; ceil grad */
static void p41(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.12182003, 2.8682911, 1.0769436, 2.9052098, 1.2160498, 2.079085,
        -1.232211, -2.5150805, 1.1535977, -0.13297874, -2.6864924, -1.100162}, RG_SHAPE(6, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-1.2885872, 0.036841746, -0.18045051, 0.9195761, 0.9303838, 0.2602638,
        0.96098864, -0.12974696, 0.7371334, 1.3772609, 1.6905617, -1.1977289}, RG_SHAPE(6, 2));
    {
        rg_tensor v1 = rg_ceil(v0);
        rg_tensor o3[1];
        rg_grad(v1, RG_TENSORS(v0), o3, .seed = v2, .unused_ok = true);
        rg_tensor v3 = o3[0];
        see(v3, RG_F32, RG_SHAPE(6, 2), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v1, RG_F32, RG_SHAPE(6, 2), (double[]){-0, 3, 2, 3, 2, 3, -1, -2, 2, -0, -2, -1}, (double[]){7.5e-07,
            1.5e-06, 1.3e-06, 1.5e-06, 1.3e-06, 1.5e-06, 1e-06, 1.3e-06, 1.3e-06, 7.5e-07, 1.3e-06, 1e-06});
        seen(c);
    }
}

/* 42: forward; trunc permute */
static void p42(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.1203625510940727, -0.7239989576277903, -0.8227344428285708,
        0.7672217051083581, 1.5080101738340685, 0.23058902673176984, 1.582033565135358, 1.5197269351128782,
        2.771205544583802}, RG_SHAPE(3, 3));
    {
        rg_tensor v1 = rg_trunc(v0);
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(-2, 1));
        see(v1, RG_F64, RG_SHAPE(3, 3), (double[]){2, -0, -0, 0, 1, 0, 1, 1, 2}, (double[]){1.9e-15, 9.3e-16, 9.3e-16,
            9.3e-16, 1.4e-15, 9.3e-16, 1.4e-15, 1.4e-15, 1.9e-15});
        see(v2, RG_F64, RG_SHAPE(3, 3), (double[]){2.1203625510940727, -0.72399895762779032, -0.82273444282857078,
            0.76722170510835808, 1.5080101738340685, 0.23058902673176984, 1.5820335651353581, 1.5197269351128782,
            2.7712055445838022}, (double[]){3.8e-15, 2.4e-15, 3.1e-15, 2.7e-15, 3.4e-15, 2.2e-15, 4.2e-15, 4.4e-15,
            6.9e-15});
        seen(c);
    }
}

/* 43: grad; isinf mul permute mul grad */
static void p43(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x402e, 0x4021, 0xbe9f, 0x3d2f, 0x3fc7, 0xbf96, 0x4030},
        RG_SHAPE(7, 1));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-24.316822}, RG_SHAPE());
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){0.92211044}, RG_SHAPE());
    {
        rg_tensor v1 = rg_isinf(v0);
        rg_tensor v2 = rg_mul(v1, v1);
        rg_tensor v3 = rg_permute(v1, RG_SHAPE(1, 0));
        rg_tensor v5 = rg_mul(v4, v4);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v4, v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F32, RG_SHAPE(), (double[]){-44.8455908831}, (double[]){8.4e-05});
        see(v8, RG_BF16, RG_SHAPE(7, 1), (double[]){0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 44: grad; add add isnan sum permute grad */
static void p44(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.7181622, 0.25205427}, RG_SHAPE(2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-0.5516427}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){1.8397434, 2.7819622, 1.4491943, -1.9992685}, RG_SHAPE(4));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){-0.63508224, -0.40566283}, RG_SHAPE(2));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_add(v2, v1);
        rg_tensor v4 = rg_isnan(v0);
        rg_tensor v6 = rg_sum(v5);
        rg_tensor v7 = rg_permute(v2, RG_SHAPE(0));
        rg_tensor o9[1];
        rg_grad(v7, RG_TENSORS(v5), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0];
        see(v9, RG_F32, RG_SHAPE(4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v7, RG_F32, RG_SHAPE(2), (double[]){-1.26980489492, -0.299588441849}, (double[]){1.7e-06, 1.1e-06});
        seen(c);
    }
}

/* 45: forward; realize round add */
static void p45(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.4755963, 2.8819277, 2.5338278}, RG_SHAPE(3));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 31, 0));
    {
        rg_realize(v0);
        rg_tensor v1 = rg_round(v0);
        rg_tensor v3 = rg_add(0.5, v2);
        see(v1, RG_F32, RG_SHAPE(3), (double[]){1, 3, 3}, (double[]){1e-06, 1.5e-06, 1.5e-06});
        see(v3, RG_F32, RG_SHAPE(2, 31, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 46: assign; add logical_not permute */
static void p46(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U32, (uint32_t[]){0, 1, 10, 5, 11, 7, 8}, RG_SHAPE(1, 7));
    rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1}, RG_SHAPE());
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v3 = rg_logical_not(v1);
        rg_tensor v4 = rg_permute(v2, RG_SHAPE(1, 0));
        see(v2, RG_U32, RG_SHAPE(1, 7), (double[]){1, 2, 11, 6, 12, 8, 9}, NULL);
        see(v3, RG_BOOL, RG_SHAPE(), (double[]){0}, NULL);
        see(v4, RG_U32, RG_SHAPE(7, 1), (double[]){1, 2, 11, 6, 12, 8, 9}, NULL);
        seen(c);
    }
}

/* 47: grad; sum sum sum isfinite leaky_relu grad */
static void p47(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.116070956, -0.57524586, 2.8105521, 1.8764102, 2.8596961, 2.4357328,
        0.73217237, 2.619789, 2.2311494, 1.8234279, -1.0302263, -0.94906217, 0.57101613, -2.8886244, 0.0543396,
        1.7152394, -1.0214034, 1.8968966}, RG_SHAPE(6, 3));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.6465249, -2.381363, 2.2936907, 1.6877991, 1.5991726, -1.0196002,
        2.7934523, -1.4394219, 1.9051167, -1.5207922, -1.7582847, -1.5318772, 0.7090315, -1.4808574, -0.55228937,
        -1.2848682, 1.6271819, 1.5244658}, RG_SHAPE(3, 3, 2));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0.33138952}, RG_SHAPE(1));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){-0.44361478}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, 1), .keep = true);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-3, -2));
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(0));
        rg_tensor v6 = rg_isfinite(v5);
        rg_tensor v7 = rg_leaky_relu(v5, 0.25);
        rg_tensor o9[2];
        rg_grad(v7, RG_TENSORS(v0, v5), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F32, RG_SHAPE(6, 3), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
            (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v10, RG_F32, RG_SHAPE(1), (double[]){-0.443614780903}, (double[]){1.5e-06});
        see(v7, RG_F32, RG_SHAPE(1), (double[]){0.331389516592}, (double[]){9e-07});
        seen(c);
    }
}

/* 48: forward; mul mul bitwise_not permute add */
static void p48(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x4b23, 0xcdee, 0xcce1, 0xcb7b, 0xce1f, 0x4959, 0xcd60, 0xc18f,
        0xc782, 0x4dc5, 0x4b62, 0x4977, 0xccde, 0x4604, 0xca42}, RG_SHAPE(5, 3, 1));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-23.145558935148753}, RG_SHAPE(1));
    rg_tensor v4 = rg_from(c, RG_U8, (uint8_t[]){0}, RG_SHAPE(3, 0));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_mul(v2, v0);
        rg_tensor v5 = rg_bitwise_not(v4);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(1, 0));
        rg_tensor v7 = rg_add(v6, 5);
        see(v1, RG_F16, RG_SHAPE(5, 3, 1), (double[]){203.731018066, 562.579101562, 380.859619141, 223.829650879,
            599.484619141, 114.389709473, 462.25, 7.72449111938, 56.3672485352, 532.599853516, 218.023681641,
            119.458068848, 379.032226562, 36.1877441406, 156.640869141}, (double[]){2.1, 4.3, 2.8, 2.9, 5.6, 1.8, 2.6,
            0.73, 1.1, 4, 2.2, 1.9, 2.9, 1, 2.1});
        see(v3, RG_F64, RG_SHAPE(5, 3, 1), (double[]){-330.36668886341226, 548.98372599305947, 451.70004859376235,
            346.27926063132702, 566.70454455278275, -247.54898579858315, 497.6295171056982, 64.328379618587249,
            173.7725166927965, -534.1561023002298, -341.75864365180581, -252.97372617400862, 450.61510051867725,
            -139.23500296925423, 289.68113604772111}, (double[]){0.00024, 0.00032, 0.00069, 0.00039, 0.0006, 0.00037,
            0.00067, 0.00021, 0.00032, 0.00081, 0.00044, 0.00035, 0.00036, 0.0004, 0.00073});
        see(v7, RG_U8, RG_SHAPE(0, 3), (double[]){0}, NULL);
        seen(c);
    }
}

/* 49: forward; celu */
static void p49(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){6.226263}, RG_SHAPE());
    {
        rg_tensor v1 = rg_celu(v0, 1.0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){6.22626304626}, (double[]){9.1e-06});
        seen(c);
    }
}

/* 50: backward; glu permute add hardtanh sum backward */
static void p50(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-2.396143, -6.7467074, -6.7572255, -6.6360736, -1.5660264,
        7.0882597}, RG_SHAPE(3, 2)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F32, (float[]){1.5494442}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_glu(v0, -1);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v4 = rg_hardtanh(v2, -0.75, 1.25);
        rg_tensor v6 = rg_sum(v5);
        rg_zero_grad(c);
        rg_backward(v6);
        rg_tensor v7 = rg_param_grad(v5);
        see(v7, RG_F32, RG_SHAPE(), (double[]){1}, (double[]){8.8e-07});
        see(v6, RG_F32, RG_SHAPE(), (double[]){1.54944419861}, (double[]){1.5e-06});
        seen(c);
    }
}

/* 51: forward; detach sum realize_all */
static void p51(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I8, (int8_t[]){4, 12, -7, -5, 0, 12, -1, 2, 11, 3, 0, 6, 10, -6, 10, 10, -3, 0, 9, 8,
        -4, 9, 1, 1, -4, -8, 10, -3}, RG_SHAPE(7, 4));
    rg_tensor v2 = rg_from(c, RG_U32, (uint32_t[]){7, 7, 10, 8, 11}, RG_SHAPE(5, 1));
    {
        rg_tensor v1 = rg_detach(v0);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(1));
        rg_realize_all(RG_TENSORS(v3));
        see(v1, RG_I8, RG_SHAPE(7, 4), (double[]){4, 12, -7, -5, 0, 12, -1, 2, 11, 3, 0, 6, 10, -6, 10, 10, -3, 0, 9,
            8, -4, 9, 1, 1, -4, -8, 10, -3}, NULL);
        seen(c);
    }
}

/* 52: assign; mul contiguous assign assign_slice assign */
static void p52(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(1, 4, 0));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(1, 1, 0));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_contiguous(v1);
        rg_assign(v0, v3);
        rg_tensor v4 = v0;
        rg_assign_slice(v1, v5, RG_SLICES((rg_range){.start = 0, .stop = 1, .step = 1}, (rg_range){.start = -1, .stop
            = 4, .step = 2}, (rg_range){.start = -1, .stop = 1, .step = 3}));
        rg_tensor v6 = v1;
        rg_assign(v5, 3);
        rg_tensor v7 = v5;
        see(v2, RG_F32, RG_SHAPE(1, 4, 0), (double[]){0}, (double[]){0});
        see(v4, RG_F32, RG_SHAPE(1, 4, 0), (double[]){0}, (double[]){0});
        see(v6, RG_F32, RG_SHAPE(1, 4, 0), (double[]){0}, (double[]){0});
        see(v7, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 53: backward; elu sub sub sum backward */
static void p53(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-5.9316134, -1.8904762, -7.1032925, -5.964495, 1.9909734,
        3.3123922, -2.7157705, 4.153042, -1.735579}, RG_SHAPE(1, 3, 3)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){2.4239292, 2.7352848, -2.6064873, 2.26918, 0.6625706,
        -1.8466035, -1.1553624, 2.0091302, -1.1595011, -0.58425343, -2.360285, 0.9504258}, RG_SHAPE(2, 2, 3)));
    rg_tensor v4 = rg_param(rg_from(c, RG_F32, (float[]){-1.0332034, -1.7223799, 0.50366837, 0.3452394, -2.504461,
        -1.7985635, 2.187827, 2.0146384, -2.9752145}, RG_SHAPE(3, 3)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F32, (float[]){0.12661378, 2.0655227, -1.9736623}, RG_SHAPE(3)));
    {
        rg_tensor v1 = rg_elu(v0, 0.5);
        rg_tensor v3 = rg_sub(v2, -1.5);
        rg_tensor v6 = rg_sub(v4, v5);
        rg_tensor v7 = rg_sum(v6);
        rg_zero_grad(c);
        rg_backward(v7);
        rg_tensor v8 = rg_param_grad(v4);
        rg_tensor v9 = rg_param_grad(v5);
        see(v8, RG_F32, RG_SHAPE(3, 3), (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, (double[]){2.5e-06, 2.2e-06, 2.2e-06,
            2e-06, 1.7e-06, 3.2e-06, 4.2e-06, 3e-06, 2.7e-06});
        see(v9, RG_F32, RG_SHAPE(3), (double[]){-3, -3, -3}, (double[]){6.3e-06, 7.3e-06, 7.3e-06});
        see(v7, RG_F32, RG_SHAPE(), (double[]){-5.63787157834}, (double[]){1.6e-05});
        seen(c);
    }
}

/* 54: jit; mod mul div permute */
static rg_tensor p54_v2, p54_v4;
static rg_status p54_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p54_v2;
    rg_tensor v4 = p54_v4;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v3 = rg_mod(v1, v2);
    rg_tensor v5 = rg_mul(v3, v4);
    rg_tensor v6 = rg_div(v5, 0.5);
    rg_tensor v7 = rg_permute(v6, RG_SHAPE(-2, 1));
    out[0] = v7;
    return 0;
}
static void p54(rg_ctx *c) {
    p54_v2 = rg_from(c, RG_F32, (float[]){24.347229, 22.101732, 22.848503, 18.05284}, RG_SHAPE(4, 1));
    p54_v4 = rg_from(c, RG_U16, (uint16_t[]){8}, RG_SHAPE(1));
    rg_jit *jit = rg_jit_new(c, p54_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_U32, (uint32_t[]){1, 7, 8, 5, 10, 0}, RG_SHAPE(3, 2, 1));
        rg_tensor v1 = rg_from(c, RG_F64, (double[]){1.6880874152019194, -1.7143013722399354, 1.3067568058963737,
            -2.0011280859001754}, RG_SHAPE(4, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F64, RG_SHAPE(4, 1), (double[]){27.00939864323071, 326.19889410861418, 20.908108894341979,
            256.82737909239404}, (double[]){0.00015, 0.00055, 0.00014, 0.00057});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U32, (uint32_t[]){7, 10, 11, 6, 0, 3}, RG_SHAPE(3, 2, 1));
        rg_tensor v1 = rg_from(c, RG_F64, (double[]){-0.2563368294258961, 2.9338497455834682, 1.9750381115053477,
            1.293795560994961}, RG_SHAPE(4, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F64, RG_SHAPE(4, 1), (double[]){385.45427479168563, 46.941595929335492, 31.600609784085563,
            20.700728975919375}, (double[]){0.00054, 0.00012, 0.00011, 0.0001});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U32, (uint32_t[]){10, 11, 0, 5, 6, 10}, RG_SHAPE(3, 2, 1));
        rg_tensor v1 = rg_from(c, RG_F64, (double[]){-0.799027137859738, -1.77492471404348, -0.55582075954384,
            -2.704924561169064}, RG_SHAPE(4, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F64, RG_SHAPE(4, 1), (double[]){376.77122985674418, 325.22892063975746, 356.68291765198603,
            245.56663548809183}, (double[]){0.00045, 0.00044, 0.00055, 0.00034});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 55: forward; floordiv floordiv */
static void p55(rg_ctx *c) {
    rg_tensor v0 = rg_scalar(c, RG_F64, 8.05201721613685);
    rg_tensor v2 = rg_from(c, RG_I16, (int16_t[]){5}, RG_SHAPE());
    {
        rg_tensor v1 = rg_floordiv(v0, v0);
        rg_tensor v3 = rg_floordiv(v2, v2);
        see(v1, RG_F64, RG_SHAPE(), (double[]){1}, (double[]){9.3e-16});
        see(v3, RG_I16, RG_SHAPE(), (double[]){1}, NULL);
        seen(c);
    }
}

/* 56: grad2; mul permute sum sum fmod grad grad */
static void p56(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.771586, 25.063675, 19.68726, -4.498577, 16.382956, 13.47096,
        -20.683054, -10.09428, 2.37771, 20.965485, -16.450977, -7.8305745, 3.4314713, 11.937289, 22.670965,
        -23.212332, -29.248291, 16.50614, -9.581876, -25.114697, 17.017765, -3.2536914, -12.802907, 3.1527412},
        RG_SHAPE(1, 6, 4));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-3.3473585}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-2.2229974, 1.2704796, 2.1743062, -1.644016}, RG_SHAPE(1, 4));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){1.0706846, 0.12285938, -2.3629837, -0.009331054, -2.6754398,
        2.6537843, -0.30586365, 0.026373375, 0.475948, -0.9621564, -0.08439625, 0.8353232}, RG_SHAPE(3, 4));
    rg_tensor v9 = rg_from(c, RG_F32, (float[]){0.7268215}, RG_SHAPE(1, 1));
    rg_tensor v12 = rg_from(c, RG_F32, (float[]){-1.5789919}, RG_SHAPE());
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(1, 0));
        rg_tensor v5 = rg_sum(v2, .axes = RG_SHAPE(0, 1, 2), .keep = true);
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(2));
        rg_tensor v8 = rg_fmod(v7, -2);
        rg_tensor o10[2];
        rg_grad(v6, RG_TENSORS(v3, v1), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1];
        rg_tensor o13[2];
        rg_grad(v11, RG_TENSORS(v3, v1), o13, .seed = v12, .unused_ok = true);
        rg_tensor v13 = o13[0], v14 = o13[1];
        see(v13, RG_F32, RG_SHAPE(1, 4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v14, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v6, RG_F32, RG_SHAPE(1, 1), (double[]){-35.6987265598}, (double[]){0.0004});
        seen(c);
    }
}

/* 57: jit; sum pow */
static rg_tensor p57_v3, p57_v4;
static rg_status p57_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v3 = p57_v3;
    rg_tensor v4 = p57_v4;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0, 2), .keep = true);
    rg_tensor v5 = rg_pow(v3, v4);
    out[0] = v2;
    out[1] = v5;
    return 0;
}
static void p57(rg_ctx *c) {
    p57_v3 = rg_scalar(c, RG_U64, 8.0);
    p57_v4 = rg_from(c, RG_U64, (uint64_t[]){3}, RG_SHAPE());
    rg_jit *jit = rg_jit_new(c, p57_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.37372774, -1.6301056, -1.7497587, -0.9069344}, RG_SHAPE(4));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){512}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.0, -1.25, 1.25, -2.75}, RG_SHAPE(4));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){512}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.75, 1.5, -2.0, 0.75}, RG_SHAPE(4));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){512}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.981114, -1.5245761, -2.4345982, 1.8014945}, RG_SHAPE(4));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){512}, NULL);
        seen(c);
    }
    rg_jit_free(jit);
}

/* 58: loop; permute add maximum */
static void p58(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.25}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_add(v1, v1);
        rg_tensor v3 = rg_maximum(v0, v2);
        see(v2, RG_F64, RG_SHAPE(1), (double[]){0.5}, (double[]){6.1e-15});
        see(v3, RG_F64, RG_SHAPE(1), (double[]){0.5}, (double[]){7.5e-15});
        seen(c);
    }
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_add(v1, v1);
        rg_tensor v3 = rg_maximum(v0, v2);
        see(v2, RG_F64, RG_SHAPE(1), (double[]){0.5}, (double[]){3.3e-15});
        see(v3, RG_F64, RG_SHAPE(1), (double[]){0.5}, (double[]){4.7e-15});
        seen(c);
    }
}

/* 59: grad2; minimum permute mul grad grad */
static void p59(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.062839925, -1.8402933, 2.4787223, -2.5590503}, RG_SHAPE(4, 1));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-6.5038357}, RG_SHAPE(1));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-0.7000311, -1.0357292, 0.19593607, 1.3577244}, RG_SHAPE(4, 1));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-0.2015703}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_minimum(v0, 0.5);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0, 1));
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v3), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        rg_tensor o8[1];
        rg_grad(v6, RG_TENSORS(v3), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        seen(c);
    }
}

/* 60: forward; mul ne */
static void p60(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xcea3, 0x4515, 0x46af, 0x4d0f, 0xcc5e, 0xc5f1, 0xcf10, 0xbd0f,
        0x4c22}, RG_SHAPE(3, 3));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_ne(v0, 1);
        see(v1, RG_F16, RG_SHAPE(3, 3), (double[]){704.736572266, 25.827041626, 44.670425415, 409.429931641,
            305.157226562, 35.3003082275, 798.0625, 1.59933567047, 273.282226562}, (double[]){4.8, 1, 1.2, 4, 3.5,
            1.1, 7.3, 0.78, 2.4});
        see(v2, RG_BOOL, RG_SHAPE(3, 3), (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, NULL);
        seen(c);
    }
}

/* 61: forward; le realize_all le */
static void p61(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.7948067}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
    {
        rg_tensor v2 = rg_le(v0, v1);
        rg_realize_all(RG_TENSORS(v2, v0, v2));
        rg_tensor v4 = rg_le(v2, v3);
        see(v4, RG_BOOL, RG_SHAPE(0, 2), (double[]){0}, NULL);
        seen(c);
    }
}

/* 62: backward; sum eq sum backward */
static void p62(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){1.4788451082859684}, RG_SHAPE(1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){0.7022441582480052}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_sum(v0, .keep = true);
        rg_tensor v3 = rg_eq(v0, v2);
        rg_tensor v4 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        see(v5, RG_F64, RG_SHAPE(1), (double[]){1}, (double[]){9.3e-15});
        seen(c);
    }
}

/* 63: forward; sum lt mul add sum */
static void p63(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.4482298, -0.9537334}, RG_SHAPE(1, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){2.7897737}, RG_SHAPE());
    rg_tensor v5 = rg_scalar(c, RG_F32, 4.486413478851318);
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){1.75, 0.5, 2.75, 1.5, -1.25, 1.75, -0.25, 2.5, 2.25, -2.25, 2.5,
        -3.0}, RG_SHAPE(2, 6));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(1), .keep = true);
        rg_tensor v3 = rg_lt(v0, v2);
        rg_tensor v4 = rg_mul(v3, v2);
        rg_tensor v6 = rg_add(v2, v5);
        rg_tensor v8 = rg_sum(v7, .axes = RG_SHAPE(1));
        see(v1, RG_F32, RG_SHAPE(1, 1), (double[]){-3.40196317434}, (double[]){7.3e-06});
        see(v4, RG_F32, RG_SHAPE(1, 2), (double[]){2.78977370262, 2.78977370262}, (double[]){4.4e-06, 4.4e-06});
        see(v6, RG_F32, RG_SHAPE(), (double[]){7.27618718147}, (double[]){1.1e-05});
        see(v8, RG_F32, RG_SHAPE(2), (double[]){7, 1.75}, (double[]){8.9e-06, 5.1e-06});
        seen(c);
    }
}

/* 64: forward; logical_and */
static void p64(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.8768106, -2.9165635, 1.8462923, 1.3336183, -0.9851926, -2.3390453,
        -1.0918393, -2.7794595, 2.1956708, 1.4426227, -0.66134477, -2.529526, 1.9428012, 2.6070461, -2.057313,
        0.527171, 1.9291029, -2.809442}, RG_SHAPE(3, 6));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-2.318551}, RG_SHAPE());
    {
        rg_tensor v2 = rg_logical_and(v0, v1);
        see(v2, RG_BOOL, RG_SHAPE(3, 6), (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, NULL);
        seen(c);
    }
}

/* 65: assign; gt realize */
static void p65(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 0, 1));
    rg_tensor v1 = rg_scalar(c, RG_F64, 3.461431909432168);
    {
        rg_tensor v2 = rg_gt(v1, v0);
        rg_realize(v0);
        see(v2, RG_BOOL, RG_SHAPE(3, 0, 1), (double[]){0}, NULL);
        seen(c);
    }
}

/* 66: grad2; add sum mul logical_or grad grad */
static void p66(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(5, 0, 4));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0, 4));
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0x4017}, RG_SHAPE(1));
    rg_tensor v6 = rg_from(c, RG_BF16, (uint16_t[]){0xc016, 0xbf8e, 0x3f5d}, RG_SHAPE(1, 3));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0));
    rg_tensor v10 = rg_from(c, RG_BF16, (uint16_t[]){0x3f35}, RG_SHAPE(1));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_sum(v1, .axes = RG_SHAPE(-1));
        rg_tensor v5 = rg_mul(v3, v4);
        rg_tensor v7 = rg_logical_or(v6, v6);
        rg_tensor o9[1];
        rg_grad(v5, RG_TENSORS(v4), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0];
        rg_tensor o11[1];
        rg_grad(v9, RG_TENSORS(v4), o11, .seed = v10, .unused_ok = true);
        rg_tensor v11 = o11[0];
        see(v11, RG_BF16, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v9, RG_BF16, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v5, RG_F32, RG_SHAPE(5, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 67: backward; ge mul sum permute mul sum backward */
static void p67(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0x3d2e, 0x3fb9, 0xbf5f, 0xc003, 0x3d25, 0x3f73},
        RG_SHAPE(2, 1, 3)));
    rg_tensor v1 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0xbfca}, RG_SHAPE()));
    rg_tensor v3 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0x4183, 0x40d4}, RG_SHAPE(2)));
    {
        rg_tensor v2 = rg_ge(v1, v0);
        rg_tensor v4 = rg_mul(v3, 2.0);
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(0));
        rg_tensor v7 = rg_mul(v6, 2.0);
        rg_tensor v8 = rg_sum(v7);
        rg_zero_grad(c);
        rg_backward(v8);
        rg_tensor v9 = rg_param_grad(v3);
        see(v9, RG_BF16, RG_SHAPE(2), (double[]){4, 4}, (double[]){0.46, 0.79});
        see(v8, RG_BF16, RG_SHAPE(), (double[]){92}, (double[]){9.8});
        seen(c);
    }
}

/* 68: grad; mul bitwise_or add add grad */
static void p68(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0, 6));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){13.171412145623357, -19.18074284556388, 0.8143676949999126,
        -7.891104397259461, -4.294605163075239, 4.633916240808503}, RG_SHAPE(6));
    rg_tensor v3 = rg_from(c, RG_U32, (uint32_t[]){242443203}, RG_SHAPE(1, 1, 1));
    rg_tensor v4 = rg_from(c, RG_I8, (int8_t[]){-6}, RG_SHAPE(1, 1, 1));
    rg_tensor v6 = rg_from(c, RG_F16, (uint16_t[]){0xb826}, RG_SHAPE());
    rg_tensor v9 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 6));
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v5 = rg_bitwise_or(v3, v4);
        rg_tensor v7 = rg_add(v6, v0);
        rg_tensor v8 = rg_add(v5, v5);
        rg_tensor o10[1];
        rg_grad(v2, RG_TENSORS(v6), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0];
        see(v10, RG_F16, RG_SHAPE(), (double[]){0}, (double[]){3.1e-07});
        seen(c);
    }
}

/* 69: grad2; permute add permute add logical_xor grad grad */
static void p69(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.5483517901834709, -2.0627711162493747, -2.6729588964582005,
        -0.9175623488060616, -0.57598134193932}, RG_SHAPE(1, 5));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-2.273780314771403}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-1.5392545896453318, 0.45984265512617206, 1.219999177121803,
        1.934365034971207, -1.0893526179688306}, RG_SHAPE(5, 1));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){-2.842170393961749, -2.5897271594395206, 2.3821397556325845,
        -2.255097942132673, -0.20004782874940963, -2.17665945080384}, RG_SHAPE(6));
    rg_tensor v9 = rg_from(c, RG_F64, (double[]){1.0524362694528682, 1.7185310523667692, 1.4568596094559179,
        1.269745330003225, 1.8722133760781086}, RG_SHAPE(5, 1));
    rg_tensor v13 = rg_from(c, RG_F64, (double[]){-0.9263472964875663}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        rg_tensor v3 = rg_add(v2, v1);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(1, 0));
        rg_tensor v6 = rg_add(v5, v4);
        rg_tensor v8 = rg_logical_xor(v7, v2);
        rg_tensor o10[3];
        rg_grad(v6, RG_TENSORS(v2, v7, v5), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1], v12 = o10[2];
        rg_tensor o14[3];
        rg_grad(v10, RG_TENSORS(v2, v7, v5), o14, .seed = v13, .unused_ok = true);
        rg_tensor v14 = o14[0], v15 = o14[1], v16 = o14[2];
        see(v14, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v15, RG_F64, RG_SHAPE(6), (double[]){0, 0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16});
        see(v16, RG_F64, RG_SHAPE(5, 1), (double[]){0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16});
        seen(c);
    }
}

/* 70: forward; sum bitwise_and sum sum */
static void p70(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(4, 2, 5, 0));
    rg_tensor v2 = rg_from(c, RG_I8, (int8_t[]){7, 9, 4, 11, -4, 5, -6, 8, -4, 5, 11, -5, 10, 4, 12, -3, 0, 5, -5, -2,
        1}, RG_SHAPE(3, 7));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, 1, -1), .keep = true);
        rg_tensor v3 = rg_bitwise_and(v2, v2);
        rg_tensor v4 = rg_sum(v3, .keep = true);
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(1));
        see(v1, RG_F64, RG_SHAPE(1, 1, 5, 1), (double[]){0, 0, 0, 0, 0}, (double[]){1.1e-300, 1.1e-300, 1.1e-300,
            1.1e-300, 1.1e-300});
        see(v5, RG_I64, RG_SHAPE(1), (double[]){63}, NULL);
        seen(c);
    }
}

/* 71: assign; bitwise_xor */
static void p71(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U16, (uint16_t[]){0}, RG_SHAPE(7, 0, 7, 5));
    {
        rg_tensor v1 = rg_bitwise_xor(v0, v0);
        see(v1, RG_U16, RG_SHAPE(7, 0, 7, 5), (double[]){0}, NULL);
        seen(c);
    }
}

/* 72: forward; sum add copysign */
static void p72(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I8, (int8_t[]){11, -6, 9, -3}, RG_SHAPE(4));
    rg_tensor v2 = rg_from(c, RG_I64, (int64_t[]){1}, RG_SHAPE(1));
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0x4023, 0x4012, 0xc005, 0x401b, 0xbef1, 0x3f9c, 0x4024, 0xbf9c,
        0x401b, 0x4012, 0x3ec0, 0x3ffc}, RG_SHAPE(2, 1, 6));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v3 = rg_add(v1, v2);
        rg_tensor v5 = rg_copysign(v4, v4);
        see(v3, RG_I64, RG_SHAPE(1), (double[]){12}, NULL);
        see(v5, RG_BF16, RG_SHAPE(2, 1, 6), (double[]){2.546875, 2.28125, -2.078125, 2.421875, -0.470703125, 1.21875,
            2.5625, -1.21875, 2.421875, 2.28125, 0.375, 1.96875}, (double[]){0.042, 0.037, 0.034, 0.04, 0.0077, 0.02,
            0.042, 0.02, 0.04, 0.037, 0.0062, 0.032});
        seen(c);
    }
}

/* 73: backward; logaddexp logaddexp backward */
static void p73(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){2.8064988}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_logaddexp(v0, v0);
        rg_tensor v2 = rg_logaddexp(v1, v1);
        rg_zero_grad(c);
        rg_backward(v1);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(), (double[]){1}, (double[]){2e-06});
        seen(c);
    }
}

/* 74: forward; shl mul sum add sum */
static void p74(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){0}, RG_SHAPE(0, 4));
    rg_tensor v1 = rg_from(c, RG_U64, (uint64_t[]){6}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-6.543373949381305}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(2, 4, 0));
    {
        rg_tensor v2 = rg_shl(v0, v1);
        rg_tensor v4 = rg_mul(v1, v3);
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(0, 1, 2), .keep = true);
        rg_tensor v7 = rg_add(v2, 5);
        rg_tensor v8 = rg_sum(v7, .keep = true);
        see(v4, RG_F64, RG_SHAPE(), (double[]){-39.26024369628783}, (double[]){2.7e-13});
        see(v6, RG_F64, RG_SHAPE(1, 1, 1), (double[]){0}, (double[]){1.1e-300});
        see(v7, RG_U64, RG_SHAPE(0, 4), (double[]){0}, NULL);
        see(v8, RG_U64, RG_SHAPE(1, 1), (double[]){0}, NULL);
        seen(c);
    }
}

/* 75: forward; permute clamp where sum */
static void p75(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0, 4, 0));
    rg_tensor v2 = rg_from(c, RG_BF16, (uint16_t[]){0xbfdf, 0x3fb8, 0xc008, 0xc020, 0x3fe9, 0x3f6e}, RG_SHAPE(6, 1));
    rg_tensor v4 = rg_from(c, RG_F16, (uint16_t[]){0xc000}, RG_SHAPE(1, 1));
    rg_tensor v5 = rg_from(c, RG_BOOL, (bool[]){1}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1, 2));
        rg_tensor v3 = rg_clamp(v2, RG_NONE, 1.25);
        rg_tensor v6 = rg_where(v5, 2, v4);
        rg_tensor v7 = rg_sum(v6, .axes = RG_SHAPE(-1));
        see(v1, RG_F16, RG_SHAPE(0, 4, 0), (double[]){0}, (double[]){0});
        see(v3, RG_BF16, RG_SHAPE(6, 1), (double[]){-1.7421875, 1.25, -2.125, -2.5, 1.25, 0.9296875}, (double[]){0.11,
            0.13, 0.17, 0.14, 0.14, 0.1});
        see(v7, RG_F16, RG_SHAPE(1), (double[]){2}, (double[]){0.044});
        seen(c);
    }
}

/* 76: assign; lerp sum permute assign_slice realize */
static void p76(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbff7}, RG_SHAPE(1, 1));
    rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0xc03b}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){1.9309804}, RG_SHAPE());
    {
        rg_tensor v2 = rg_lerp(v0, v1, v0);
        rg_tensor v4 = rg_sum(v3);
        rg_tensor v5 = rg_permute(v1, RG_SHAPE(-1));
        rg_assign_slice(v1, v5, RG_SLICES((rg_range){.start = -1, .stop = -1, .step = 3}));
        rg_tensor v6 = v1;
        rg_realize(v5);
        see(v2, RG_BF16, RG_SHAPE(1, 1), (double[]){-0.0150756835938}, (double[]){0.00099});
        see(v4, RG_F32, RG_SHAPE(), (double[]){1.93098044395}, (double[]){2.5e-06});
        see(v5, RG_BF16, RG_SHAPE(1), (double[]){-2.921875}, (double[]){0.048});
        see(v6, RG_BF16, RG_SHAPE(1), (double[]){-2.921875}, (double[]){0.048});
        seen(c);
    }
}

/* 77: grad; masked_fill grad */
static void p77(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.44892345910167775, -1.6806014740693, 2.5554431343407096},
        RG_SHAPE(1, 3));
    rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-1.9081470094414565, 1.2873572208177295, -1.9802090931285568},
        RG_SHAPE(1, 3));
    {
        rg_tensor v2 = rg_masked_fill(v0, v1, -2.0);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        see(v4, RG_F64, RG_SHAPE(1, 3), (double[]){0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16});
        seen(c);
    }
}

/* 78: assign; sum mul reshape */
static void p78(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x3c14}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-21.134153}, RG_SHAPE());
    {
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v3 = rg_mul(v2, v1);
        rg_tensor v4 = rg_reshape(v3, RG_SHAPE(1));
        see(v1, RG_F16, RG_SHAPE(), (double[]){1.01953125}, (double[]){0.014});
        see(v4, RG_F32, RG_SHAPE(1), (double[]){-21.546929799}, (double[]){0.24});
        seen(c);
    }
}

/* 79: forward; transpose add add mul */
static void p79(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.7020908, 2.3988101, -1.2084346, -0.7070725, 2.5236301, -2.4086506,
        1.7569804, -2.5060756}, RG_SHAPE(2, 4));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){1.7393559}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){19.402021, 29.490429, -4.4144588, -12.784323}, RG_SHAPE(4));
    {
        rg_tensor v1 = rg_transpose(v0, -2, -2);
        rg_tensor v2 = rg_add(v1, 1);
        rg_tensor v4 = rg_add(v1, v3);
        rg_tensor v6 = rg_mul(v5, v1);
        see(v2, RG_F32, RG_SHAPE(2, 4), (double[]){0.297909200191, 3.39881014824, -0.208434581757, 0.292927503586,
            3.52363014221, -1.40865063667, 2.75698041916, -1.50607562065}, (double[]){2e-06, 4.4e-06, 1.9e-06,
            1.9e-06, 4.4e-06, 2.9e-06, 4.2e-06, 4.4e-06});
        see(v4, RG_F32, RG_SHAPE(2, 4), (double[]){1.03726512194, 4.13816606998, 0.530921339989, 1.03228342533,
            4.26298606396, -0.669294714928, 3.4963363409, -0.766719698906}, (double[]){2.5e-06, 7.5e-06, 2.6e-06,
            3.2e-06, 5.5e-06, 3.4e-06, 6.4e-06, 3.2e-06});
        see(v6, RG_F32, RG_SHAPE(2, 4), (double[]){-13.6219807283, 70.7419401802, 5.33458461527, 9.03944299378,
            48.9635260453, -71.0321404049, -7.75611758788, 32.0384795419}, (double[]){5.2e-05, 0.00013, 4.1e-05,
            4.3e-05, 0.00011, 0.00016, 4.9e-05, 7.4e-05});
        seen(c);
    }
}

/* 80: grad; expand sum grad */
static void p80(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.7603499160941762, 0.9694224755957563, 0.07280448658597738,
        -1.4731574731525134, -2.8891857677255905, -2.687702276868487, 1.7576856035796409, 2.412091551330512,
        -2.877452824176868, 2.6030130014763593, -0.8126074359864304, 0.17138483552958217, -1.5771041435461983,
        1.3212268936218416, 0.13219693909744867, -2.850882312749345, 0.9887891256250292}, RG_SHAPE(17));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){0.9584426436652023}, RG_SHAPE());
    {
        rg_tensor v1 = rg_expand(v0, RG_SHAPE(-1));
        rg_tensor v2 = rg_sum(v1);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        see(v4, RG_F64, RG_SHAPE(17), (double[]){0.95844264366520227, 0.95844264366520227, 0.95844264366520227,
            0.95844264366520227, 0.95844264366520227, 0.95844264366520227, 0.95844264366520227, 0.95844264366520227,
            0.95844264366520227, 0.95844264366520227, 0.95844264366520227, 0.95844264366520227, 0.95844264366520227,
            0.95844264366520227, 0.95844264366520227, 0.95844264366520227, 0.95844264366520227}, (double[]){1.6e-14,
            1.6e-14, 1.4e-14, 1.8e-14, 2.4e-14, 1.6e-14, 2e-14, 2.4e-14, 1.6e-14, 1.6e-14, 2.4e-14, 2e-14, 1.8e-14,
            2e-14, 1.4e-14, 1.3e-14, 1.2e-14});
        seen(c);
    }
}

/* 81: forward; add sum slice add permute */
static void p81(rg_ctx *c) {
    rg_tensor v0 = rg_scalar(c, RG_BF16, 7.40625);
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){0.7088093346374036, 2.4806079287285625, -0.866988047395508,
        0.34834691161460807, -0.43377154567832577, -0.9640637656764288, 1.4410099470199578}, RG_SHAPE(7, 1));
    rg_tensor v5 = rg_scalar(c, RG_BF16, 3.859375);
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(4, 3, 1, 0));
    {
        rg_tensor v1 = rg_add(v0, 0.5);
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v4 = rg_slice(v3, RG_SLICES((rg_range){.start = 3, .stop = -1, .step = 2}, (rg_range){.start = 0,
            .stop = 1, .step = 1}));
        rg_tensor v6 = rg_add(v5, v5);
        rg_tensor v8 = rg_permute(v7, RG_SHAPE(2, -3, -4, 3));
        see(v2, RG_BF16, RG_SHAPE(), (double[]){7.90625}, (double[]){0.89});
        see(v4, RG_F64, RG_SHAPE(2, 1), (double[]){0.34834691161460807, -0.96406376567642882}, (double[]){9.1e-16,
            1e-15});
        see(v6, RG_BF16, RG_SHAPE(), (double[]){7.71875}, (double[]){0.43});
        see(v8, RG_F32, RG_SHAPE(1, 3, 4, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 82: grad; mul narrow sum grad */
static void p82(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-22.347057}, RG_SHAPE(1));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-12.327024}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.1701006, 1.851806}, RG_SHAPE(1, 2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){0.37748772}, RG_SHAPE());
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v4 = rg_narrow(v3, 0, 1, 0);
        rg_tensor v5 = rg_sum(v4);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v0, v1), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v8, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v5, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        seen(c);
    }
}

/* 83: backward; add sum select sum backward */
static void p83(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.78553, 0.93099725, -1.977771, 0.3997849, -2.3885803},
        RG_SHAPE(1, 5, 1)));
    {
        rg_tensor v1 = rg_add(0.25, v0);
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v3 = rg_select(v1, -1, -1);
        rg_tensor v4 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        see(v5, RG_F32, RG_SHAPE(1, 5, 1), (double[]){1, 1, 1, 1, 1}, (double[]){1.6e-06, 2.1e-06, 3.1e-06, 2.6e-06,
            2.1e-06});
        seen(c);
    }
}

/* 84: grad2; sum permute isclose permute add grad grad */
static void p84(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.8830066}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-0.6701498}, RG_SHAPE(1));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){1.6659789}, RG_SHAPE(1));
    rg_tensor v10 = rg_from(c, RG_F32, (float[]){-1.9404101}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(-1));
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v4 = rg_isclose(v2, v3, 0.125, 0.25);
        rg_tensor v5 = rg_permute(v3, RG_SHAPE(0));
        rg_tensor v6 = rg_add(v5, v1);
        rg_tensor o8[2];
        rg_grad(v6, RG_TENSORS(v0, v3), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        rg_tensor o11[2];
        rg_grad(v8, RG_TENSORS(v0, v3), o11, .seed = v10, .unused_ok = true);
        rg_tensor v11 = o11[0], v12 = o11[1];
        see(v11, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v12, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        seen(c);
    }
}

/* 85: loop; squeeze flip permute */
static void p85(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.7830204, -0.058597177, 0.98657143}, RG_SHAPE(3, 1));
    {
        rg_tensor v1 = rg_squeeze(v0, -1);
        rg_tensor v2 = rg_flip(v1, RG_SHAPE(-1));
        rg_tensor v3 = rg_permute(v1, RG_SHAPE(0));
        see(v2, RG_F32, RG_SHAPE(3), (double[]){0.98657143116, -0.0585971772671, -1.78302037716}, (double[]){6.9e-07,
            4.6e-07, 8.9e-07});
        see(v3, RG_F32, RG_SHAPE(3), (double[]){-1.78302037716, -0.0585971772671, 0.98657143116}, (double[]){8.9e-07,
            4.6e-07, 6.9e-07});
        see(v1, RG_F32, RG_SHAPE(3), (double[]){-1.78302037716, -0.0585971772671, 0.98657143116}, (double[]){8.9e-07,
            4.6e-07, 6.9e-07});
        seen(c);
    }
    {
        rg_tensor v1 = rg_squeeze(v0, -1);
        rg_tensor v2 = rg_flip(v1, RG_SHAPE(-1));
        rg_tensor v3 = rg_permute(v1, RG_SHAPE(0));
        see(v2, RG_F32, RG_SHAPE(3), (double[]){0.98657143116, -0.0585971772671, -1.78302037716}, (double[]){6.9e-07,
            4.6e-07, 8.9e-07});
        see(v3, RG_F32, RG_SHAPE(3), (double[]){-1.78302037716, -0.0585971772671, 0.98657143116}, (double[]){8.9e-07,
            4.6e-07, 6.9e-07});
        see(v1, RG_F32, RG_SHAPE(3), (double[]){-1.78302037716, -0.0585971772671, 0.98657143116}, (double[]){8.9e-07,
            4.6e-07, 6.9e-07});
        seen(c);
    }
}

/* 86: forward; mul unsqueeze shr realize flatten */
static void p86(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-24.51184996395978, 19.668810405194677, -23.872748366439914,
        -8.711199792180846, 16.270832688278126}, RG_SHAPE(5));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.25}, RG_SHAPE(1, 1));
    rg_tensor v4 = rg_from(c, RG_U64, (uint64_t[]){3, 0, 11}, RG_SHAPE(3, 1));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_unsqueeze(v2, -3);
        rg_tensor v5 = rg_shr(v4, v4);
        rg_realize(v2);
        rg_tensor v6 = rg_flatten(v2, 0, 1);
        see(v1, RG_F64, RG_SHAPE(5), (double[]){600.83078865567506, 386.86210275549439, 569.90811456735958,
            75.885001819291617, 264.73999636994}, (double[]){5.5e-12, 5.5e-12, 9.1e-12, 3.1e-12, 6.2e-12});
        see(v3, RG_F32, RG_SHAPE(1, 1, 1), (double[]){1.25}, (double[]){6.3e-07});
        see(v5, RG_U64, RG_SHAPE(3, 1), (double[]){0, 0, 0}, NULL);
        see(v6, RG_F32, RG_SHAPE(1), (double[]){1.25}, (double[]){6.3e-07});
        seen(c);
    }
}

/* 87: assign; mul pad assign_slice mul */
static void p87(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I32, (int32_t[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_from(c, RG_U16, (uint16_t[]){34736}, RG_SHAPE(1, 1));
    rg_tensor v4 = rg_from(c, RG_U16, (uint16_t[]){0}, RG_SHAPE(0, 0));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_pad(v2, RG_SHAPE(0, 0), 0.0);
        rg_assign_slice(v2, v4, RG_SLICES((rg_range){.start = 2, .stop = 2, .step = 3}, (rg_range){.start = -1, .stop
            = 0, .step = 3}));
        rg_tensor v5 = v2;
        rg_tensor v6 = rg_mul(3, v1);
        see(v3, RG_U16, RG_SHAPE(1, 1), (double[]){34736}, NULL);
        see(v5, RG_U16, RG_SHAPE(1, 1), (double[]){34736}, NULL);
        see(v6, RG_I32, RG_SHAPE(0), (double[]){0}, NULL);
        seen(c);
    }
}

/* 88: backward; pad_with permute sum backward */
static void p88(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-1.9354317517475619, 1.9955327148465134,
        -2.054972760241663}, RG_SHAPE(3, 1)));
    {
        rg_tensor v1 = rg_pad_with(v0, RG_SHAPE(2, 0, 0, 0), RG_PAD_REFLECT);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        see(v4, RG_F64, RG_SHAPE(3, 1), (double[]){1, 2, 2}, (double[]){1.2e-14, 1.8e-14, 1.8e-14});
        see(v3, RG_F64, RG_SHAPE(), (double[]){-2.0543118425378619}, (double[]){6.2e-14});
        seen(c);
    }
}

/* 89: assign; sum stack */
static void p89(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.636423, -1.4598467, 2.8633265, 1.3581669, 2.6198661, -2.6031246},
        RG_SHAPE(1, 6));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(-1), .keep = true);
        rg_tensor v3 = rg_stack(RG_TENSORS(v2, v2), 1);
        see(v1, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){1e-36});
        see(v3, RG_F32, RG_SHAPE(1, 2, 6), (double[]){1.63642299175, -1.459846735, 2.86332654953, 1.35816693306,
            2.61986613274, -2.60312461853, 1.63642299175, -1.459846735, 2.86332654953, 1.35816693306, 2.61986613274,
            -2.60312461853}, (double[]){1.1e-06, 1.1e-06, 1.4e-06, 1.1e-06, 1.4e-06, 1.4e-06, 1.1e-06, 1.1e-06,
            1.4e-06, 1.1e-06, 1.4e-06, 1.4e-06});
        seen(c);
    }
}

/* 90: grad2; mul permute add cat grad grad */
static void p90(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-4.679547748415654}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){0.23582189908295037, -1.6142329702669533, 2.1760229032608143,
        -1.4050200178028585, 2.5259103073768214, -0.6794168436845887, 1.9682032304225165, -2.296245536003572,
        0.4482581752429682}, RG_SHAPE(3, 3, 1));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){2.6519409558671505, -2.596298852700246, -2.563259798941343,
        0.7293794981099904, -2.304872644068773}, RG_SHAPE(5, 1));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){-0.06013537385649226, 1.2253036747349602, 0.4369059500220063,
        -1.757460088918172, -0.005288902898537007}, RG_SHAPE(5, 1));
    rg_tensor v10 = rg_from(c, RG_F64, (double[]){-0.5304634123357905, 1.9957122304354242, 1.8483872173759042,
        0.19531064425083233, 1.1408683310340533}, RG_SHAPE(5, 1));
    {
        rg_tensor v1 = rg_mul(v0, 2);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(2, 1, 0));
        rg_tensor v5 = rg_add(v1, v4);
        rg_tensor v6 = rg_cat(RG_TENSORS(v5), 1);
        rg_tensor o8[2];
        rg_grad(v6, RG_TENSORS(v0, v4), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        rg_tensor o11[2];
        rg_grad(v9, RG_TENSORS(v0, v4), o11, .seed = v10, .unused_ok = true);
        rg_tensor v11 = o11[0], v12 = o11[1];
        see(v11, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v12, RG_F64, RG_SHAPE(5, 1), (double[]){0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16});
        seen(c);
    }
}

/* 91: backward; sum unfold mul realize mul sum backward */
static void p91(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.1345668, 0.44641536, -0.46765766}, RG_SHAPE(1, 3)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){2.1803358, 1.7849339, 1.238653, -1.1163701, 2.0535724,
        1.7770705, 1.0609585, -2.6810982, -0.3205752, 0.094167456, 1.0882896, 0.80794823, 0.55892664, -2.162038,
        2.2041967, 1.7496969, 2.6759837, -2.3250923}, RG_SHAPE(6, 3, 1)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F32, (float[]){-1.69764}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_sum(v0, .keep = true);
        rg_tensor v3 = rg_unfold(v2, 2, 1, 1);
        rg_tensor v4 = rg_mul(v0, v0);
        rg_realize(v1);
        rg_tensor v6 = rg_mul(v4, v5);
        rg_tensor v7 = rg_sum(v6);
        rg_zero_grad(c);
        rg_backward(v7);
        rg_tensor v8 = rg_param_grad(v0);
        rg_tensor v9 = rg_param_grad(v5);
        see(v8, RG_F32, RG_SHAPE(1, 3), (double[]){0.456891945086, -1.51570510797, 1.5878286304}, (double[]){3.7e-06,
            5.5e-06, 8.5e-06});
        see(v9, RG_F32, RG_SHAPE(), (double[]){0.436098583946}, (double[]){1.4e-06});
        seen(c);
    }
}

/* 92: forward; sum repeat mul */
static void p92(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.5, 1.75, -2.0, 2.0, -1.0, 1.0, -1.5, 0.75, -2.75, -2.75, -2.5,
        -0.25, 2.25, 0.75, -2.25, -0.75, -0.75, -2.0, -1.0, -0.0, -0.25, 1.25, 2.5, 2.25}, RG_SHAPE(4, 6, 1, 1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v2 = rg_repeat(v0, RG_SHAPE(1, 0, 1, 1));
        rg_tensor v3 = rg_mul(v2, v2);
        see(v1, RG_F64, RG_SHAPE(1, 6, 1, 1), (double[]){1.25, 3.25, -7.25, -0.25, -1.75, 1}, (double[]){3.5e-14,
            2.8e-14, 4.5e-14, 2.5e-14, 2e-14, 2.3e-14});
        see(v3, RG_F64, RG_SHAPE(4, 0, 1, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 93: assign; roll sum roll realize_all mul */
static void p93(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-1.4776848055617162}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){26.140884}, RG_SHAPE());
    {
        rg_tensor v1 = rg_roll(v0, RG_SHAPE(-9), RG_SHAPE());
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v3 = rg_roll(v2, RG_SHAPE(-4), RG_SHAPE());
        rg_realize_all(RG_TENSORS(v2, v2));
        rg_tensor v5 = rg_mul(v4, v0);
        see(v1, RG_F64, RG_SHAPE(), (double[]){-1.4776848055617162}, (double[]){3.7e-15});
        see(v3, RG_F64, RG_SHAPE(), (double[]){-1.4776848055617162}, (double[]){1.5e-14});
        see(v5, RG_F64, RG_SHAPE(), (double[]){-38.627987680959471}, (double[]){2.9e-05});
        seen(c);
    }
}

/* 94: loop; add permute add repeat_interleave assign_slice */
static void p94(rg_ctx *c) {
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){2.25}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 1, 0));
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.6877527, -0.30816597, 2.35674, 2.5866923, -2.7337556},
            RG_SHAPE(5, 1));
        rg_tensor v7 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 1, 0));
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(2, -3, 1));
        rg_tensor v5 = rg_add(v4, 0.25);
        rg_tensor v6 = rg_repeat_interleave(v5, 1, 2);
        rg_assign_slice(v3, v7, RG_SLICES((rg_range){.start = 2, .stop = RG_END, .step = 2}));
        rg_tensor v8 = v3;
        see(v2, RG_F32, RG_SHAPE(5, 1), (double[]){-0.437752723694, 1.94183403254, 4.60673999786, 4.83669233322,
            -0.483755588531}, (double[]){3.5e-06, 6.1e-06, 5.5e-06, 7.6e-06, 4e-06});
        see(v5, RG_F32, RG_SHAPE(0, 5, 1), (double[]){0}, (double[]){0});
        see(v6, RG_F32, RG_SHAPE(0, 5, 1), (double[]){0}, (double[]){0});
        see(v8, RG_F32, RG_SHAPE(5, 1, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.75, 0.75, 1.75, 0.75, -0.75}, RG_SHAPE(5, 1));
        rg_tensor v7 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 1, 0));
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(2, -3, 1));
        rg_tensor v5 = rg_add(v4, 0.25);
        rg_tensor v6 = rg_repeat_interleave(v5, 1, 2);
        rg_assign_slice(v3, v7, RG_SLICES((rg_range){.start = 2, .stop = RG_END, .step = 2}));
        rg_tensor v8 = v3;
        see(v2, RG_F32, RG_SHAPE(5, 1), (double[]){1.5, 3, 4, 3, 1.5}, (double[]){4.1e-06, 5e-06, 7.2e-06, 6e-06,
            4.1e-06});
        see(v5, RG_F32, RG_SHAPE(0, 5, 1), (double[]){0}, (double[]){0});
        see(v6, RG_F32, RG_SHAPE(0, 5, 1), (double[]){0}, (double[]){0});
        see(v8, RG_F32, RG_SHAPE(5, 1, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 95: forward; tril */
static void p95(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xb9ce, 0x39cb, 0x40f0, 0x4017, 0x4080, 0xbc5f, 0x3748, 0xbf18,
        0xbc62, 0xbbce, 0xbbd8, 0x4057}, RG_SHAPE(1, 3, 4));
    {
        rg_tensor v1 = rg_tril(v0, -3);
        see(v1, RG_F16, RG_SHAPE(1, 3, 4), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){6.3e-08,
            6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08});
        seen(c);
    }
}

/* 96: forward; permute triu */
static void p96(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE(0, 2, 2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, -2, 2));
        rg_tensor v2 = rg_triu(v0, 2);
        see(v1, RG_I64, RG_SHAPE(0, 2, 2), (double[]){0}, NULL);
        see(v2, RG_I64, RG_SHAPE(0, 2, 2), (double[]){0}, NULL);
        seen(c);
    }
}

/* 97: assign; sum sum diag */
static void p97(rg_ctx *c) {
    rg_tensor v0 = rg_scalar(c, RG_F64, 7.406066019473775);
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0xbfc0, 0x4000, 0x4020, 0x3fa0, 0xc020, 0x3f00, 0x3f80, 0x3f00,
        0x3f80, 0x3fe0, 0xbf00, 0xc030}, RG_SHAPE(3, 4));
    {
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v4 = rg_diag(v3, 1);
        see(v2, RG_F64, RG_SHAPE(), (double[]){7.4060660194737746}, (double[]){7.8e-14});
        see(v4, RG_BF16, RG_SHAPE(3), (double[]){2, 1, -2.75}, (double[]){0.033, 0.016, 0.045});
        seen(c);
    }
}

/* 98: grad; add diagonal add add grad */
static void p98(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.7404649909901355, 2.8444615479237774, 2.4609138341719436,
        1.2016816130640162, -1.5530361060804363, 0.6490951652279016}, RG_SHAPE(1, 2, 3));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){2.683194617475463, -2.0713414049057075, -2.538235859779165,
        2.380062859339856, -1.1357768011112028, 2.256732155689103, -1.5635257921694106}, RG_SHAPE(7));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-2.3811142781852164}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){-0.4634537855662808, 0.3489496312806919, -0.4050556050104128,
        0.500309193820061, -1.715172620116757, 0.1446095935357259, 1.49710535298984}, RG_SHAPE(7));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v2 = rg_diagonal(v1, -2, 2, 0);
        rg_tensor v3 = rg_add(2.0, v2);
        rg_tensor v6 = rg_add(v4, v5);
        rg_tensor o8[1];
        rg_grad(v6, RG_TENSORS(v4), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F64, RG_SHAPE(7), (double[]){-0.46345378556628081, 0.3489496312806919, -0.40505560501041282,
            0.500309193820061, -1.715172620116757, 0.14460959353572589, 1.4971053529898399}, (double[]){5.3e-15,
            4.2e-15, 5.5e-15, 7.5e-15, 1.6e-14, 3.5e-15, 7.4e-15});
        seen(c);
    }
}

/* 99: backward; chunk sum backward */
static void p99(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){2.1283517, -1.6307914, -2.7399735}, RG_SHAPE(3)));
    {
        rg_tensor o1[1];
        rg_chunk(v0, 0, 1, o1);
        rg_tensor v1 = o1[0];
        rg_tensor v2 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(3), (double[]){1, 1, 1}, (double[]){2e-06, 1.7e-06, 2e-06});
        seen(c);
    }
}

/* 100: forward; mul sum permute sum meshgrid */
static void p100(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-4.829528, -5.8253098, 24.498434, 0.3744306, 17.04104, -5.0010085,
        -16.726988, -3.710268, -2.2808492, -7.4484873, -18.991983, -28.625359}, RG_SHAPE(2, 3, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-17.559484}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){2.100095}, RG_SHAPE(1));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){1.1883045}, RG_SHAPE(1));
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor v3 = rg_sum(v0, .axes = RG_SHAPE(0, 1, -1));
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(0));
        rg_tensor v6 = rg_sum(v5, .keep = true);
        rg_tensor o8[2];
        rg_meshgrid(RG_TENSORS(v7, v7), o8);
        rg_tensor v8 = o8[0], v9 = o8[1];
        see(v2, RG_F32, RG_SHAPE(2, 3, 2), (double[]){84.8040194229, 102.289436217, -430.179872824, -6.57480825452,
            -299.231884818, 87.8151313351, 293.717283382, 65.1503937316, 40.0505364553, 130.791596838, 333.489438032,
            502.646539799}, (double[]){0.00039, 0.00035, 0.0011, 0.00027, 0.00077, 0.00037, 0.00058, 0.00035, 0.00029,
            0.00043, 0.00072, 0.0013});
        see(v3, RG_F32, RG_SHAPE(), (double[]){-51.5258753896}, (double[]){0.00012});
        see(v6, RG_F32, RG_SHAPE(1), (double[]){2.10009503365}, (double[]){4.1e-06});
        see(v8, RG_F32, RG_SHAPE(1, 1), (double[]){1.1883045435}, (double[]){5.9e-07});
        see(v9, RG_F32, RG_SHAPE(1, 1), (double[]){1.1883045435}, (double[]){5.9e-07});
        seen(c);
    }
}

/* 101: assign; unflatten */
static void p101(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.7135905, 2.0710435, 0.3883407, 1.0125228, 1.9970138, -1.197972},
        RG_SHAPE(3, 2));
    {
        rg_tensor v1 = rg_unflatten(v0, -2, RG_SHAPE(1, 1, 3));
        see(v1, RG_F32, RG_SHAPE(1, 1, 3, 2), (double[]){-0.713590502739, 2.07104349136, 0.388340711594,
            1.01252281666, 1.9970138073, -1.19797205925}, (double[]){7e-07, 1e-06, 6.2e-07, 7.7e-07, 1e-06, 8.2e-07});
        seen(c);
    }
}

/* 102: grad2; sum add cast grad grad */
static void p102(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.4212654, 0.38218585, -2.6241713, -2.331594, 2.4781585, 2.3369486},
        RG_SHAPE(1, 1, 2, 3));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){0.9952043}, RG_SHAPE(1, 1, 1, 1));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){1.2960317, 1.1154829, -0.5544133, 0.6272614, 1.5387377, 0.0710606},
        RG_SHAPE(1, 1, 2, 3));
    {
        rg_tensor v1 = rg_sum(v0, .keep = true);
        rg_tensor v2 = rg_add(v1, v1);
        rg_tensor v3 = rg_cast(v0, RG_I16);
        rg_tensor o5[1];
        rg_grad(v1, RG_TENSORS(v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0];
        rg_tensor o7[1];
        rg_grad(v5, RG_TENSORS(v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0];
        see(v7, RG_F32, RG_SHAPE(1, 1, 2, 3), (double[]){0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07});
        see(v5, RG_F32, RG_SHAPE(1, 1, 2, 3), (double[]){0.995204329491, 0.995204329491, 0.995204329491,
            0.995204329491, 0.995204329491, 0.995204329491}, (double[]){2.3e-06, 2e-06, 2e-06, 1.8e-06, 2e-06,
            2e-06});
        seen(c);
    }
}

/* 103: assign; split permute realize_all assign_slice */
static void p103(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xb40b, 0x3ccb, 0xbd29, 0x4113, 0xc1ae, 0x38dc}, RG_SHAPE(3, 2));
    rg_tensor v4 = rg_index(c, 0, 1, 1);
    rg_tensor v5 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(2, 0));
    {
        rg_tensor o1[2];
        rg_split(v0, 1, RG_SHAPE(2, 0), o1);
        rg_tensor v1 = o1[0], v2 = o1[1];
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(1, 0));
        rg_realize_all(RG_TENSORS(v3, v2, v0));
        rg_assign_slice(v0, v5, RG_SLICES((rg_range){.start = 0, .stop = 2, .step = 0, .at = v4}, (rg_range){.start =
            1, .stop = -1, .step = 2}));
        rg_tensor v6 = v0;
        see(v1, RG_F16, RG_SHAPE(3, 2), (double[]){-0.252685546875, 1.1982421875, -1.2900390625, 2.537109375,
            -2.83984375, 0.607421875}, (double[]){0.00052, 0.0025, 0.0026, 0.0052, 0.0058, 0.0012});
        see(v6, RG_F16, RG_SHAPE(3, 2), (double[]){-0.252685546875, 1.1982421875, -1.2900390625, 2.537109375,
            -2.83984375, 0.607421875}, (double[]){0.00052, 0.0025, 0.0026, 0.0052, 0.0058, 0.0012});
        see(v3, RG_F16, RG_SHAPE(0, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 104: grad; bitcast mul add mul permute grad */
static void p104(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3, 3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3, 3));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3, 3));
    {
        rg_tensor v1 = rg_bitcast(v0, RG_U32);
        rg_tensor v2 = rg_mul(v0, 2.0);
        rg_tensor v4 = rg_add(v3, v2);
        rg_tensor v5 = rg_mul(v3, 0.25);
        rg_tensor v6 = rg_permute(v1, RG_SHAPE(2, 0, 1));
        rg_tensor o8[2];
        rg_grad(v5, RG_TENSORS(v3, v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        see(v8, RG_F32, RG_SHAPE(0, 3, 3), (double[]){0}, (double[]){0});
        see(v9, RG_F32, RG_SHAPE(0, 3, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 105: jit; add permute full */
static rg_tensor p105_v1;
static rg_status p105_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p105_v1;
    rg_tensor v0 = in[0];
    rg_tensor v2 = rg_add(v1, v0);
    rg_tensor v3 = rg_permute(v1, RG_SHAPE(1, 2, 0));
    rg_tensor v4 = rg_full(c, RG_F8E5M2, 0.0, RG_SHAPE(3, 0));
    out[0] = v2;
    out[1] = v3;
    out[2] = v4;
    return 0;
}
static void p105(rg_ctx *c) {
    p105_v1 = rg_from(c, RG_F64, (double[]){-1.9328139232352783, -1.2647859671335404}, RG_SHAPE(2, 1, 1));
    rg_jit *jit = rg_jit_new(c, p105_body, NULL, 3);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.76330626, -2.1557896}, RG_SHAPE(2, 1, 1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(2, 1, 1), (double[]){-2.6961201833442261, -3.4205755808572951},
            (double[]){2.8e-06, 4e-06});
        see(out[1], RG_F64, RG_SHAPE(1, 1, 2), (double[]){-1.9328139232352783, -1.2647859671335404},
            (double[]){3.7e-15, 3.3e-15});
        see(out[2], RG_F8E5M2, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.8189273, -2.6080828}, RG_SHAPE(2, 1, 1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(2, 1, 1), (double[]){-1.1138866351798584, -3.8728687384348097},
            (double[]){2.4e-06, 5.1e-06});
        see(out[1], RG_F64, RG_SHAPE(1, 1, 2), (double[]){-1.9328139232352783, -1.2647859671335404},
            (double[]){3.7e-15, 3.3e-15});
        see(out[2], RG_F8E5M2, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.2482458, 2.060025}, RG_SHAPE(2, 1, 1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(2, 1, 1), (double[]){-0.68456808793101809, 0.79523900959680627},
            (double[]){1e-06, 2.5e-06});
        see(out[1], RG_F64, RG_SHAPE(1, 1, 2), (double[]){-1.9328139232352783, -1.2647859671335404},
            (double[]){3.7e-15, 3.3e-15});
        see(out[2], RG_F8E5M2, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 106: loop; add mul sum number */
static void p106(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BOOL, (bool[]){1, 1, 0, 1, 1, 1, 0}, RG_SHAPE(7));
    {
        rg_tensor v2 = rg_from(c, RG_U64, (uint64_t[]){0}, RG_SHAPE(1, 0, 2));
        rg_tensor v1 = rg_add(v0, 5);
        rg_tensor v3 = rg_mul(v2, v2);
        rg_tensor v4 = rg_sum(v3);
        rg_tensor v5 = rg_number(c, RG_BF16, -2.0);
        see(v1, RG_I64, RG_SHAPE(7), (double[]){6, 6, 5, 6, 6, 6, 5}, NULL);
        see(v4, RG_U64, RG_SHAPE(), (double[]){0}, NULL);
        see(v5, RG_BF16, RG_SHAPE(), (double[]){-2}, (double[]){0.033});
        seen(c);
    }
    {
        rg_tensor v2 = rg_from(c, RG_U64, (uint64_t[]){0}, RG_SHAPE(1, 0, 2));
        rg_tensor v1 = rg_add(v0, 5);
        rg_tensor v3 = rg_mul(v2, v2);
        rg_tensor v4 = rg_sum(v3);
        rg_tensor v5 = rg_number(c, RG_BF16, -2.0);
        see(v1, RG_I64, RG_SHAPE(7), (double[]){6, 6, 5, 6, 6, 6, 5}, NULL);
        see(v4, RG_U64, RG_SHAPE(), (double[]){0}, NULL);
        see(v5, RG_BF16, RG_SHAPE(), (double[]){-2}, (double[]){0.033});
        seen(c);
    }
    {
        rg_tensor v2 = rg_from(c, RG_U64, (uint64_t[]){0}, RG_SHAPE(1, 0, 2));
        rg_tensor v1 = rg_add(v0, 5);
        rg_tensor v3 = rg_mul(v2, v2);
        rg_tensor v4 = rg_sum(v3);
        rg_tensor v5 = rg_number(c, RG_BF16, -2.0);
        see(v1, RG_I64, RG_SHAPE(7), (double[]){6, 6, 5, 6, 6, 6, 5}, NULL);
        see(v4, RG_U64, RG_SHAPE(), (double[]){0}, NULL);
        see(v5, RG_BF16, RG_SHAPE(), (double[]){-2}, (double[]){0.033});
        seen(c);
    }
}

/* 107: forward; integer mul permute permute mul */
static void p107(rg_ctx *c) {
    rg_tensor v2 = rg_from(c, RG_BF16, (uint16_t[]){0x4010, 0xc020, 0xc020}, RG_SHAPE(3, 1));
    rg_tensor v5 = rg_from(c, RG_U64, (uint64_t[]){0}, RG_SHAPE(0));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    {
        rg_tensor v0 = rg_integer(c, RG_U8, 40);
        rg_tensor v1 = rg_mul(0.5, v0);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(1, 0));
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(0, 1));
        rg_tensor v7 = rg_mul(v5, v6);
        see(v1, RG_F32, RG_SHAPE(), (double[]){20}, (double[]){3.4e-05});
        see(v4, RG_BF16, RG_SHAPE(1, 3), (double[]){2.25, -2.5, -2.5}, (double[]){0.037, 0.041, 0.041});
        see(v7, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 108: forward; zeros */
static void p108(rg_ctx *c) {
    {
        rg_tensor v0 = rg_zeros(c, RG_F8E4M3, RG_SHAPE(2));
        see(v0, RG_F8E4M3, RG_SHAPE(2), (double[]){0, 0}, (double[]){0.0021, 0.0021});
        seen(c);
    }
}

/* 109: assign; sum arange */
static void p109(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x3fe0, 0xbf80, 0xc000, 0x3fc0, 0xbf00, 0x4030, 0xc020, 0x4030,
        0x4030, 0x3f80, 0x3f00, 0x3fc0, 0x3e80, 0x3f40}, RG_SHAPE(1, 7, 1, 2));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(-3));
        rg_tensor v2 = rg_arange(c, RG_I32, 4.0, 17.0, -1.0);
        see(v1, RG_BF16, RG_SHAPE(1, 1, 2), (double[]){0.25, 9.25}, (double[]){0.16, 0.83});
        see(v2, RG_I32, RG_SHAPE(0), (double[]){0}, NULL);
        seen(c);
    }
}

/* 110: grad2; ones add mul permute grad grad */
static void p110(rg_ctx *c) {
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-2.4970074, -1.6487689, 1.2014512, -2.5442772}, RG_SHAPE(1, 4));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){1.0097063, 1.3652893, -0.8156463, 0.57294005}, RG_SHAPE(4, 1));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-1.8048886, 1.1481862, -1.2622355, 1.2093264}, RG_SHAPE(1, 4));
    {
        rg_tensor v0 = rg_ones(c, RG_F64, RG_SHAPE(33, 1));
        rg_tensor v2 = rg_add(v1, v1);
        rg_tensor v3 = rg_mul(2, v2);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(1, 0));
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v1), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        rg_tensor o8[1];
        rg_grad(v6, RG_TENSORS(v1), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F32, RG_SHAPE(1, 4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v4, RG_F32, RG_SHAPE(4, 1), (double[]){-9.98802947998, -6.5950756073, 4.80580472946, -10.1771087646},
            (double[]){1.9e-05, 2e-05, 1.5e-05, 3.1e-05});
        seen(c);
    }
}

/* 111: assign; mul add mul full_like assign_slice */
static void p111(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-10.181586, -20.870176, 23.524221}, RG_SHAPE(3, 1));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.8133035, 0.38386518, 1.54143, -1.8018522, 0.28315502, -1.0645039},
        RG_SHAPE(6));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-2.75}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v4 = rg_mul(v3, v3);
        rg_tensor v5 = rg_full_like(v3, 0.0);
        rg_assign_slice(v2, v6, RG_SLICES());
        rg_tensor v7 = v2;
        see(v1, RG_F32, RG_SHAPE(3, 1), (double[]){103.664698883, 435.564259432, 553.388993431}, (double[]){0.0004,
            0.00072, 0.00073});
        see(v4, RG_F32, RG_SHAPE(6), (double[]){31.658705671, 0.589409898392, 9.50402573632, 12.9866857811,
            0.320707070583, 4.53267428193}, (double[]){5.9e-05, 1.6e-05, 3.9e-05, 4.3e-05, 1.6e-05, 2.3e-05});
        see(v5, RG_F32, RG_SHAPE(6), (double[]){0, 0, 0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36, 1e-36,
            1e-36});
        see(v7, RG_F32, RG_SHAPE(6), (double[]){-2.75, -2.75, -2.75, -2.75, -2.75, -2.75}, (double[]){1.4e-06,
            1.4e-06, 1.4e-06, 1.4e-06, 1.4e-06, 1.4e-06});
        seen(c);
    }
}

/* 112: forward; permute add sum eye */
static void p112(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.0, -1.0}, RG_SHAPE(1, 2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, -2));
        rg_tensor v2 = rg_add(v1, v1);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(1), .keep = true);
        rg_tensor v4 = rg_eye(c, RG_U8, 3, 3);
        see(v3, RG_F64, RG_SHAPE(2, 1), (double[]){-4, -2}, (double[]){3.6e-14, 3.2e-14});
        see(v4, RG_U8, RG_SHAPE(3, 3), (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}, NULL);
        seen(c);
    }
}

/* 113: forward; zeros_like mul */
static void p113(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.25, 1.75, 2.5, 1.75, 2.75, 1.5, -2.5}, RG_SHAPE(1, 7));
    {
        rg_tensor v1 = rg_zeros_like(v0);
        rg_tensor v2 = rg_mul(v1, v1);
        see(v2, RG_F32, RG_SHAPE(1, 7), (double[]){0, 0, 0, 0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36, 1e-36,
            1e-36, 1e-36});
        seen(c);
    }
}

/* 114: loop; prod sum assign mul */
static void p114(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.65422815}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0x4106, 0xc18d, 0xc0f0, 0x41bb, 0x4128, 0xc1db}, RG_SHAPE(6, 1));
    {
        rg_tensor v5 = rg_from(c, RG_I16, (int16_t[]){-6}, RG_SHAPE(1, 1));
        rg_tensor v1 = rg_prod(v0, .keep = true);
        rg_tensor v2 = rg_sum(v1);
        rg_assign(v0, v0);
        rg_tensor v3 = v0;
        rg_tensor v6 = rg_mul(v4, v5);
        see(v1, RG_F32, RG_SHAPE(), (double[]){0.654228150845}, (double[]){1.1e-06});
        see(v2, RG_F32, RG_SHAPE(), (double[]){0.654228150845}, (double[]){1.1e-06});
        see(v3, RG_F32, RG_SHAPE(), (double[]){0.654228150845}, (double[]){3.3e-07});
        see(v6, RG_BF16, RG_SHAPE(6, 1), (double[]){-50.25, 105.75, 45, -140.25, -63, 164.25}, (double[]){6.5, 9.8,
            4.2, 12, 6.9, 15});
        seen(c);
    }
    {
        rg_tensor v5 = rg_from(c, RG_I16, (int16_t[]){2}, RG_SHAPE(1, 1));
        rg_tensor v1 = rg_prod(v0, .keep = true);
        rg_tensor v2 = rg_sum(v1);
        rg_assign(v0, v0);
        rg_tensor v3 = v0;
        rg_tensor v6 = rg_mul(v4, v5);
        see(v1, RG_F32, RG_SHAPE(), (double[]){0.654228150845}, (double[]){1.5e-06});
        see(v2, RG_F32, RG_SHAPE(), (double[]){0.654228150845}, (double[]){2.6e-06});
        see(v3, RG_F32, RG_SHAPE(), (double[]){0.654228150845}, (double[]){3.3e-07});
        see(v6, RG_BF16, RG_SHAPE(6, 1), (double[]){16.75, -35.25, -15, 46.75, 21, -54.75}, (double[]){1.4, 3.2, 1.3,
            3.1, 1.8, 3.5});
        seen(c);
    }
}

/* 115: forward; add realize_all max */
static void p115(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.25}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_realize_all(RG_TENSORS(v1, v1));
        rg_tensor v2 = rg_max(v1, .axes = RG_SHAPE(0));
        see(v2, RG_F64, RG_SHAPE(), (double[]){-4.5}, (double[]){4.9e-14});
        seen(c);
    }
}

/* 116: assign; linspace assign_slice mul sum mul */
static void p116(rg_ctx *c) {
    rg_tensor v1 = rg_from(c, RG_F16, (uint16_t[]){0x384d}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F16, (uint16_t[]){0xca4d}, RG_SHAPE());
    {
        rg_tensor v0 = rg_linspace(c, RG_F16, -1.0, 2.0, 7);
        rg_assign_slice(v0, v1, RG_SLICES((rg_range){.start = 1, .stop = RG_END, .step = 2}));
        rg_tensor v2 = v0;
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor v5 = rg_sum(v2, .keep = true);
        rg_tensor v6 = rg_mul(v5, 2.0);
        see(v4, RG_F16, RG_SHAPE(7), (double[]){12.6015625, -6.77457046509, -0, -6.77457046509, -12.6015625,
            -6.77457046509, -25.203125}, (double[]){0.22, 0.076, 0.038, 0.076, 0.21, 0.11, 0.21});
        see(v6, RG_F16, RG_SHAPE(1), (double[]){7.2255859375}, (double[]){0.086});
        seen(c);
    }
}

/* 117: backward; realize min mul sum backward */
static void p117(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.87927395, -2.372469}, RG_SHAPE(2, 1)));
    {
        rg_realize(v0);
        rg_tensor v1 = rg_min(v0, .axes = RG_SHAPE(0, 1));
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor v3 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        see(v4, RG_F32, RG_SHAPE(2, 1), (double[]){-2.37246894836, -5.62421184778}, (double[]){9.6e-06, 1.7e-05});
        see(v3, RG_F32, RG_SHAPE(), (double[]){7.71465905693}, (double[]){1.8e-05});
        seen(c);
    }
}

/* 118: forward; mean ones_like */
static void p118(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U8, (uint8_t[]){4, 5, 10, 0, 1, 12, 0}, RG_SHAPE(7));
    {
        rg_tensor v1 = rg_mean(v0, .axes = RG_SHAPE(-1));
        rg_tensor v2 = rg_ones_like(v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){4.57142857143}, (double[]){7e-06});
        see(v2, RG_U8, RG_SHAPE(7), (double[]){1, 1, 1, 1, 1, 1, 1}, NULL);
        seen(c);
    }
}

/* 119: assign; any sum assign_slice */
static void p119(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 0));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 0));
    {
        rg_tensor v1 = rg_any(v0, .axes = RG_SHAPE(-1));
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_assign_slice(v0, v3, RG_SLICES((rg_range){.start = 0, .stop = 0, .step = 1}, (rg_range){.start = 0, .stop =
            0, .step = 1}));
        rg_tensor v4 = v0;
        see(v2, RG_I64, RG_SHAPE(1), (double[]){0}, NULL);
        see(v4, RG_F32, RG_SHAPE(2, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 120: grad2; permute var var permute var grad grad */
static void p120(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.780844, -0.19753414, -0.21103355, 1.2757243, -0.30514362,
        0.17096052, 0.17399906, 0.15732291, -0.857637, -1.8454345, -0.18315725, 2.4195795, -2.2030275, 1.6855929,
        1.7527163, -1.2492766, 0.9749746, -2.1530392}, RG_SHAPE(6, 3));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-1.4306802, 0.7729945, -0.5096071, -1.9012146, 0.12136107, 1.4871666},
        RG_SHAPE(1, 6));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){0.7671867, -1.1031374, 1.1503198, 0.7628922, -1.5574466, -0.8381623,
        0.086350866, 1.2888782, 1.0245618, 1.0363662, -1.3277051, 1.0833786, -1.3558778, 0.5878607, -1.6909039,
        -1.4747776, -0.40412426, -0.34512556}, RG_SHAPE(6, 3));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        rg_tensor v2 = rg_var(v1, .axes = RG_SHAPE(0), .keep = true, .population = true);
        rg_tensor v3 = rg_var(v2, .axes = RG_SHAPE(0, 1), .population = true);
        rg_tensor v4 = rg_permute(v1, RG_SHAPE(-1, 0));
        rg_tensor v5 = rg_var(v4, .axes = RG_SHAPE(0), .population = true);
        rg_tensor o7[1];
        rg_grad(v2, RG_TENSORS(v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0];
        rg_tensor o9[1];
        rg_grad(v7, RG_TENSORS(v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0];
        see(v9, RG_F32, RG_SHAPE(6, 3), (double[]){-0.472821021537, 1.31106933796, -0.838248316425, 0.673603445733,
            -0.522135995507, -0.151467450226, 0.2424300785, -0.166114215286, -0.0763158632141, -0.978939216697,
            2.01746545103, -1.03852623433, -0.0433855659873, 0.113877219458, -0.0704916534711, -0.727160157856,
            0.334333110757, 0.392827047099}, (double[]){2.2e-06, 2.7e-06, 2.2e-06, 2e-06, 2.2e-06, 1.8e-06, 1.6e-06,
            1.5e-06, 1.3e-06, 3.6e-06, 3.9e-06, 2.5e-06, 1.1e-06, 1.1e-06, 1.1e-06, 2.2e-06, 1.6e-06, 1.7e-06});
        seen(c);
    }
}

/* 121: backward; all permute add sum sum backward */
static void p121(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){0.5427399594632538, 2.773418705778515, -2.066051384913255,
        1.4836906938492467}, RG_SHAPE(4, 1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){-2.7499637471410168, -2.4384801306109622,
        -1.5772346380304954, -2.32077050901989, -2.337026170586703, -1.5463851457900775, 0.494918064888775,
        -2.1679384012226395, 0.9673791579647038, -1.87100513910153, 0.0024995491174735207, -1.1766992707046002},
        RG_SHAPE(4, 3)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F64, (double[]){2.8035280592795893, -2.221731301700059, 0.14903273958317476,
        -2.544860371670234, -0.7401743920178214}, RG_SHAPE(1, 5)));
    {
        rg_tensor v1 = rg_all(v0, .keep = true);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(1, -2));
        rg_tensor v4 = rg_add(-1.5, v0);
        rg_tensor v6 = rg_sum(v5, .keep = true);
        rg_tensor v7 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v7);
        rg_tensor v8 = rg_param_grad(v2);
        see(v8, RG_F64, RG_SHAPE(4, 3), (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, (double[]){8.9e-15, 1.5e-14,
            8.9e-15, 1.5e-14, 1.3e-14, 1.3e-14, 1.6e-14, 1.6e-14, 1.3e-14, 1.5e-14, 2e-14, 1.3e-14});
        seen(c);
    }
}

/* 122: forward; std permute */
static void p122(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.25, 2.25, -1.75, 3.0, 2.5}, RG_SHAPE(5, 1));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 0));
    {
        rg_tensor v1 = rg_std(v0, .axes = RG_SHAPE(0, 1), .population = true);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0, 1));
        see(v1, RG_F32, RG_SHAPE(), (double[]){2.26384628453}, (double[]){3.4e-06});
        see(v3, RG_F32, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 123: grad; sum permute mul argmax sum grad */
static void p123(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbf33, 0x4014, 0x3fef, 0x4013, 0x3d9e}, RG_SHAPE(5, 1, 1));
    rg_tensor v6 = rg_from(c, RG_BF16, (uint16_t[]){0x3e9c, 0x3f63, 0x3f99, 0x3ead, 0xbdf7}, RG_SHAPE(5, 1, 1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(1));
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(0, 1, -1));
        rg_tensor v3 = rg_mul(v2, -1.5);
        rg_tensor v4 = rg_argmax(v0, .axes = RG_SHAPE(-3), .keep = true);
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(0, -2), .keep = true);
        rg_tensor o7[1];
        rg_grad(v3, RG_TENSORS(v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0];
        see(v7, RG_BF16, RG_SHAPE(5, 1, 1), (double[]){-0.45703125, -1.330078125, -1.79296875, -0.5068359375,
            0.180908203125}, (double[]){0.041, 0.078, 0.13, 0.036, 0.032});
        seen(c);
    }
}

/* 124: grad2; cumsum grad grad */
static void p124(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.8665114271045473, -0.5349453371960893}, RG_SHAPE(2));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){0.871527546576317, 0.3887790995491538}, RG_SHAPE(2));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){1.0841300077971536, 1.4973058295004114}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_cumsum(v0, -1);
        rg_tensor o3[1];
        rg_grad(v1, RG_TENSORS(v0), o3, .seed = v2, .unused_ok = true);
        rg_tensor v3 = o3[0];
        rg_tensor o5[1];
        rg_grad(v3, RG_TENSORS(v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0];
        see(v5, RG_F64, RG_SHAPE(2), (double[]){0, 0}, (double[]){4.7e-16, 4.7e-16});
        seen(c);
    }
}

/* 125: assign; logsumexp mul */
static void p125(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.9821055, -5.8586473, -5.9294524, -5.011302, 2.3073575, -0.24999467,
        3.3068779, -0.10488734, 1.192767, 8.751561, -5.0704713, 6.0882607}, RG_SHAPE(6, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-22.947054}, RG_SHAPE(1, 1));
    {
        rg_tensor v1 = rg_logsumexp(v0, .keep = true);
        rg_tensor v3 = rg_mul(v2, v1);
        see(v3, RG_F32, RG_SHAPE(1, 1), (double[]){-202.512485231}, (double[]){0.0006});
        seen(c);
    }
}

/* 126: grad2; mul mul cummax cummax grad grad */
static void p126(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-16.016830231620972, -1.2930077761863075, 0.7437749559273286,
        26.320534632796466, 20.59538720680633, -24.733824940910768, -17.39027310363214, 16.920082075489084,
        16.94090274261243, -15.677948836616869, 1.8338276971521559, -21.84604383993049, -10.970289827621286,
        24.629977888469, -7.987106972454441}, RG_SHAPE(3, 5));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){-3.261855478077937, 23.98101229956061, 16.087435679516297,
        8.571139544745577, 10.40863095963742}, RG_SHAPE(5));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){0.9878960206510428}, RG_SHAPE(1));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){-1.1528508925932264}, RG_SHAPE(1));
    rg_tensor v11 = rg_from(c, RG_F64, (double[]){-1.8630647211613018}, RG_SHAPE(1));
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor v3 = rg_mul(v1, v1);
        rg_tensor v4 = rg_cummax(v3, -1);
        rg_tensor v6 = rg_cummax(v5, 0);
        rg_tensor o8[3];
        rg_grad(v6, RG_TENSORS(v1, v5, v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1], v10 = o8[2];
        rg_tensor o12[3];
        rg_grad(v9, RG_TENSORS(v1, v5, v0), o12, .seed = v11, .unused_ok = true);
        rg_tensor v12 = o12[0], v13 = o12[1], v14 = o12[2];
        see(v12, RG_F64, RG_SHAPE(5), (double[]){0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16});
        see(v13, RG_F64, RG_SHAPE(1), (double[]){0}, (double[]){4.7e-16});
        see(v14, RG_F64, RG_SHAPE(3, 5), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16});
        see(v6, RG_F64, RG_SHAPE(1), (double[]){0.98789602065104276}, (double[]){6.3e-15});
        seen(c);
    }
}

/* 127: backward; cumprod add sum sum add sum backward */
static void p127(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.12782323, -0.48506188, 1.2883041, -0.9813779, -1.1168762,
        -1.8167135, 1.2175275, -0.45600888, 1.6894501, -0.15817691, 1.0825305, 1.6723335, -1.2875345, 0.02397946,
        1.2183365, 0.0040955245}, RG_SHAPE(4, 4)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){1.2871125}, RG_SHAPE(1)));
    {
        rg_tensor v1 = rg_cumprod(v0, 1);
        rg_tensor v3 = rg_add(v1, v2);
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(-2, 1), .keep = true);
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(1));
        rg_tensor v6 = rg_add(v3, 0.25);
        rg_tensor v7 = rg_sum(v6);
        rg_zero_grad(c);
        rg_backward(v7);
        rg_tensor v8 = rg_param_grad(v0);
        rg_tensor v9 = rg_param_grad(v2);
        see(v8, RG_F32, RG_SHAPE(4, 4), (double[]){0.503301031312, -0.130889831606, 0.00115461079018, 0.0798776601837,
            -2.01996664816, -1.85661035553, 1.10378196874, 2.47041700583, 0.384235861229, 6.57683089156,
            -0.714133047005, -0.289286801018, 1.05331416326, -2.86260911935, -0.0310008292977, -0.0376153859791},
            (double[]){5.4e-06, 3.4e-06, 3.1e-06, 3.2e-06, 8.4e-06, 7.7e-06, 5.9e-06, 1.3e-05, 5.9e-06, 1.5e-05,
            5.1e-06, 3.8e-06, 4.6e-06, 7.6e-06, 3.1e-06, 3.1e-06});
        see(v9, RG_F32, RG_SHAPE(1), (double[]){16}, (double[]){3.2e-05});
        see(v7, RG_F32, RG_SHAPE(), (double[]){26.0784878227}, (double[]){4e-05});
        seen(c);
    }
}

/* 128: assign; logcumsumexp permute assign_slice */
static void p128(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){8.735764, 0.17636447, 2.3547559, 7.637402, -1.4515098, 4.24871},
        RG_SHAPE(6, 1, 1));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.0414114, -1.940442, -0.68477446, 2.7211866, -0.58925354,
        -0.42503726}, RG_SHAPE(6));
    {
        rg_tensor v1 = rg_logcumsumexp(v0, 0);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0));
        rg_assign_slice(v2, 3, RG_SLICES());
        rg_tensor v4 = v2;
        see(v1, RG_F32, RG_SHAPE(6, 1, 1), (double[]){8.7357635498, 8.7359552659, 8.7376469253, 9.02492110281,
            9.02494929558, 9.03334161594}, (double[]){1.7e-05, 2.1e-05, 1.7e-05, 1.6e-05, 1.8e-05, 2.2e-05});
        see(v3, RG_F32, RG_SHAPE(6), (double[]){-2.04141139984, -1.94044196606, -0.684774458408, 2.72118663788,
            -0.589253544807, -0.425037264824}, (double[]){1.2e-06, 1.2e-06, 8.5e-07, 1.4e-06, 8.3e-07, 7.9e-07});
        see(v4, RG_F32, RG_SHAPE(6), (double[]){3, 3, 3, 3, 3, 3}, (double[]){1.5e-06, 1.5e-06, 1.5e-06, 1.5e-06,
            1.5e-06, 1.5e-06});
        seen(c);
    }
}

/* 129: forward; sum cummin sum add */
static void p129(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v2 = rg_cummin(v1, -1);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(0));
        rg_tensor v6 = rg_add(v4, v5);
        see(v2, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){1e-36});
        see(v3, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){1e-36});
        see(v6, RG_F32, RG_SHAPE(0, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 130: forward; sum softmax mul norm sum */
static void p130(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.5, 0.5, -2.75, 1.0, 2.0, -0.25, -1.25}, RG_SHAPE(7, 1, 1));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){6.1280556, -7.8872223, 5.07528, 6.0734124, 2.6037745, 2.4093382},
        RG_SHAPE(3, 2, 1));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){0.1288381546070756, -2.9727379991632237, 1.368576647483481,
        0.9986959239484929, 2.271466568427254, -0.8617830759626495, 2.608511859576061, -2.62624509652491,
        -0.31398709715957374, -1.6999276567496917, -1.37565571586655, -1.2851897352688626, 0.2765998381270549,
        2.300503556496797, -1.730233411188262, -1.4757320159052496, 2.9910038925025697, 2.5629271415200625,
        -0.4908335003992539, -2.570732706834505, -0.4850484030989559, -1.8652677983750745, 0.7602120161497377, 0.375},
        RG_SHAPE(1, 4, 6));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){2.6205778, -0.9992538, -0.7301123, -0.4596556, 2.5736227}, RG_SHAPE(5,
        1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(-3));
        rg_tensor v3 = rg_softmax(v2, -3);
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor v6 = rg_norm(v5, 3.0, .axes = RG_SHAPE(0, 1, -1));
        rg_tensor v8 = rg_sum(v7, .axes = RG_SHAPE(0));
        see(v1, RG_F32, RG_SHAPE(1, 1), (double[]){0.75}, (double[]){2.3e-06});
        see(v3, RG_F32, RG_SHAPE(3, 2, 1), (double[]){0.725457303648, 8.43302125863e-07, 0.253161300425,
            0.975011667803, 0.0213813959272, 0.0249874888947}, (double[]){8.8e-07, 4.1e-07, 9.3e-07, 1.7e-06, 5.3e-07,
            5.3e-07});
        see(v4, RG_F32, RG_SHAPE(3, 2, 1), (double[]){4.44564267224, -6.65131132435e-06, 1.2848645328, 5.92164797129,
            0.0556723345068, 0.0602033124121}, (double[]){4.4e-06, 2.2e-06, 4.9e-06, 7.4e-06, 2.5e-06, 2.5e-06});
        see(v6, RG_F64, RG_SHAPE(), (double[]){5.6052450719174436}, (double[]){3e-14});
        see(v8, RG_F32, RG_SHAPE(1), (double[]){3.00517877936}, (double[]){3.9e-06});
        seen(c);
    }
}

/* 131: backward; add permute add log_softmax sum backward */
static void p131(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(1, 0, 1)));
    rg_tensor v3 = rg_param(rg_from(c, RG_F32, (float[]){2.8172011, 2.4104767, -1.1501439, 0.9653453, -1.6868447,
        2.4470382, -1.6058638, 0.8929428, 0.03160471, -1.845784, -2.586822, -2.825722, 0.94515896, -0.11699718,
        2.1412592, -0.9308893, 2.95298, 1.7685367, 1.2663716, 1.6093155, -2.1800532, 1.5909992, 1.9729133, 2.6384,
        -1.4125712, -0.10415122, 1.7754042, -2.02995}, RG_SHAPE(7, 1, 4)));
    {
        rg_tensor v1 = rg_add(v0, -1.5);
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(1, 2, 0));
        rg_tensor v4 = rg_add(v3, -1.5);
        rg_tensor v5 = rg_log_softmax(v3, 2);
        rg_tensor v6 = rg_sum(v5);
        rg_zero_grad(c);
        rg_backward(v6);
        rg_tensor v7 = rg_param_grad(v3);
        see(v7, RG_F32, RG_SHAPE(7, 1, 4), (double[]){-1.17191007678, -0.446117743021, 0.958899623593, 0.659128196212,
            0.948518958548, -2.21343742783, 0.944176523333, 0.320741945949, -2.11689450636, 0.52314914229,
            0.772723874376, 0.821021489694, 0.167724066701, 0.71227421371, -1.75249835628, 0.872500075869,
            -1.28316926985, 0.301541032817, 0.577279436797, 0.404348800239, 0.982745360333, 0.25070440896,
            -0.0977825634702, -1.13566720582, 0.864310103483, 0.497903625584, -2.28902851567, 0.926814786601},
            (double[]){4.8e-06, 2.5e-06, 3.2e-06, 2.8e-06, 3e-06, 3.5e-06, 2.8e-06, 3e-06, 5e-06, 2.3e-06, 3.9e-06,
            2.6e-06, 2.2e-06, 2.5e-06, 5.2e-06, 3.3e-06, 4.7e-06, 2.6e-06, 3.8e-06, 2.7e-06, 3.2e-06, 2.3e-06,
            2.2e-06, 3.2e-06, 2.6e-06, 2.1e-06, 6.5e-06, 4.2e-06});
        see(v6, RG_F32, RG_SHAPE(), (double[]){-60.8127162098}, (double[]){0.00012});
        seen(c);
    }
}

/* 132: forward; argsort permute */
static void p132(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4018, 0xbd1b}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_argsort(v0, -1, .descending = true);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        see(v2, RG_I64, RG_SHAPE(2), (double[]){0, 1}, NULL);
        seen(c);
    }
}

/* 133: forward; sum sort sum */
static void p133(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4023, 0x402f}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
        rg_tensor v2 = rg_sort(v0, -1, .descending = true);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(0));
        see(v1, RG_BF16, RG_SHAPE(), (double[]){5.28125}, (double[]){0.55});
        see(v3, RG_BF16, RG_SHAPE(), (double[]){5.28125}, (double[]){0.22});
        seen(c);
    }
}

/* 134: assign; add sum permute argmin */
static void p134(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U32, (uint32_t[]){6, 9, 10}, RG_SHAPE(1, 1, 3, 1));
    rg_tensor v2 = rg_from(c, RG_U16, (uint16_t[]){8, 8, 12, 8}, RG_SHAPE(2, 2));
    rg_tensor v4 = rg_from(c, RG_U8, (uint8_t[]){12, 6, 10, 3, 6, 10, 9}, RG_SHAPE(7));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(0));
        rg_tensor v6 = rg_argmin(v5, .axes = RG_SHAPE(0));
        see(v1, RG_U32, RG_SHAPE(1, 1, 3, 1), (double[]){12, 18, 20}, NULL);
        see(v3, RG_I64, RG_SHAPE(), (double[]){36}, NULL);
        see(v6, RG_I64, RG_SHAPE(), (double[]){3}, NULL);
        seen(c);
    }
}

/* 135: grad; permute sum mul topk_index add grad */
static void p135(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.2293482, -1.7086995}, RG_SHAPE(2));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){4.399421}, RG_SHAPE(1));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){1.453917, 0.5897272}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor v5 = rg_topk_index(v3, 1, 0, .smallest = true);
        rg_tensor v6 = rg_add(v5, 0);
        rg_tensor o8[1];
        rg_grad(v1, RG_TENSORS(v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F32, RG_SHAPE(2), (double[]){1.45391702652, 0.589727222919}, (double[]){1.5e-06, 1.3e-06});
        seen(c);
    }
}

/* 136: backward; matmul mul sum backward */
static void p136(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-10.786184475438535}, RG_SHAPE(1, 1, 1)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F64, (double[]){-28.553153669191477, 21.044790501855672,
        13.951476944655838}, RG_SHAPE(1, 3)));
    rg_tensor v3 = rg_param(rg_from(c, RG_F64, (double[]){-2.6530039031039294, 8.750941227496021}, RG_SHAPE(2, 1)));
    {
        rg_tensor v2 = rg_matmul(v0, v1);
        rg_tensor v4 = rg_mul(v3, 0.25);
        rg_tensor v5 = rg_sum(v4);
        rg_zero_grad(c);
        rg_backward(v5);
        rg_tensor v6 = rg_param_grad(v3);
        see(v6, RG_F64, RG_SHAPE(2, 1), (double[]){0.25, 0.25}, (double[]){5.8e-15, 4.4e-15});
        see(v5, RG_F64, RG_SHAPE(), (double[]){1.5244843310980229}, (double[]){4.4e-14});
        seen(c);
    }
}

/* 137: assign; realize set_scalar */
static void p137(rg_ctx *c) {
    rg_tensor v0 = rg_scalar(c, RG_F64, 1.2915156392041593);
    {
        rg_realize(v0);
        rg_set_scalar(v0, 2.0);
        rg_tensor v1 = v0;
        see(v1, RG_F64, RG_SHAPE(), (double[]){2}, (double[]){1.9e-15});
        seen(c);
    }
}

/* 138: grad2; topk sum add add grad grad */
static void p138(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.5016879229590891}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){1.0820021721751276}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){2.4827110191322106, 0.8971965062784744}, RG_SHAPE(2, 1));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){0.7141956836769241, 1.220197504256976}, RG_SHAPE(2, 1));
    rg_tensor v11 = rg_from(c, RG_F64, (double[]){-1.0236361811976438}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_topk(v0, 1, 0);
        rg_tensor v2 = rg_sum(v0, .keep = true);
        rg_tensor v4 = rg_add(v2, v3);
        rg_tensor v6 = rg_add(v0, v5);
        rg_tensor o8[3];
        rg_grad(v6, RG_TENSORS(v5, v3, v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1], v10 = o8[2];
        rg_tensor o12[3];
        rg_grad(v10, RG_TENSORS(v5, v3, v0), o12, .seed = v11, .unused_ok = true);
        rg_tensor v12 = o12[0], v13 = o12[1], v14 = o12[2];
        see(v12, RG_F64, RG_SHAPE(2, 1), (double[]){0, 0}, (double[]){4.7e-16, 4.7e-16});
        see(v13, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v14, RG_F64, RG_SHAPE(1), (double[]){0}, (double[]){4.7e-16});
        see(v8, RG_F64, RG_SHAPE(2, 1), (double[]){0.7141956836769241, 1.2201975042569759}, (double[]){8.5e-15,
            1.4e-14});
        see(v9, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v10, RG_F64, RG_SHAPE(1), (double[]){1.9343931879339}, (double[]){1.2e-14});
        see(v6, RG_F64, RG_SHAPE(2, 1), (double[]){3.9843989420912997, 2.3988844292375635}, (double[]){2.9e-14,
            2.2e-14});
        seen(c);
    }
}

/* 139: backward; realize permute mul outer mul sum backward */
static void p139(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-2.0016975, 0.99413824, -1.349031}, RG_SHAPE(1, 3)));
    rg_tensor v3 = rg_param(rg_from(c, RG_F32, (float[]){15.768486, -25.108643, 2.4382699}, RG_SHAPE(3)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F32, (float[]){-2.4916868, -19.82831, 19.334229}, RG_SHAPE(3)));
    {
        rg_realize(v0);
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        rg_tensor v2 = rg_mul(v1, v1);
        rg_tensor v4 = rg_outer(v3, v3);
        rg_tensor v6 = rg_mul(v3, v5);
        rg_tensor v7 = rg_sum(v6);
        rg_zero_grad(c);
        rg_backward(v7);
        rg_tensor v8 = rg_param_grad(v3);
        rg_tensor v9 = rg_param_grad(v5);
        see(v8, RG_F32, RG_SHAPE(3), (double[]){-2.49168682098, -19.8283100128, 19.3342285156}, (double[]){1.8e-05,
            3.3e-05, 4.1e-05});
        see(v9, RG_F32, RG_SHAPE(3), (double[]){15.7684860229, -25.1086425781, 2.43826985359}, (double[]){5.4e-05,
            2.8e-05, 1.7e-05});
        see(v7, RG_F32, RG_SHAPE(), (double[]){505.713886762}, (double[]){0.00057});
        seen(c);
    }
}

/* 140: backward; dot permute realize backward */
static void p140(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-22.371689, 21.842892, 14.352375}, RG_SHAPE(3)));
    {
        rg_tensor v1 = rg_dot(v0, v0);
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(0));
        rg_realize(v0);
        rg_zero_grad(c);
        rg_backward(v1);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(3), (double[]){-44.7433776855, 43.6857833862, 28.704750061}, (double[]){0.00011,
            0.00011, 6.8e-05});
        seen(c);
    }
}

/* 141: grad; permute einsum linear sum grad */
static void p141(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.0875100965062359, 0.45097233762844, -0.028763184712283785,
        2.168680101742437, 1.453594540874227}, RG_SHAPE(5));
    rg_tensor v2 = rg_from(c, RG_BF16, (uint16_t[]){0x4059, 0x41a8, 0x41ad, 0xc1cc, 0xc167, 0x41ba, 0xbd95},
        RG_SHAPE(7, 1));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0x41da}, RG_SHAPE(1, 1));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){24.171970237809184, -28.98057374925084, -0.8095496555401276,
        -0.31285644887578457, 2.877082063575145, 17.638794654024466, -26.740799234038583, -8.080630185312895,
        28.058077904184913, 0.8239710865811034, -10.219319865559193, -17.65215491772821, -9.392765424333913,
        -27.347947552397326}, RG_SHAPE(2, 7));
    rg_tensor v6 = rg_from(c, RG_F64, (double[]){-19.258475196108613, -25.180931805220986, 8.391533767440215,
        23.58650322783008, 3.6195220007160316, -13.86483475957872, -14.064393485360466}, RG_SHAPE(1, 7));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){0.7098808594961872}, RG_SHAPE(1));
    rg_tensor v10 = rg_from(c, RG_F64, (double[]){0.3994535398341368}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v4 = rg_einsum("bi,oi->bo", RG_TENSORS(v2, v3));
        rg_tensor v8 = rg_linear(v5, v6, v7);
        rg_tensor v9 = rg_sum(v8, .axes = RG_SHAPE(0, 1));
        rg_tensor o11[2];
        rg_grad(v9, RG_TENSORS(v7, v0), o11, .seed = v10, .unused_ok = true);
        rg_tensor v11 = o11[0], v12 = o11[1];
        see(v11, RG_F64, RG_SHAPE(1), (double[]){0.79890707966827357}, (double[]){1e-14});
        see(v12, RG_F64, RG_SHAPE(5), (double[]){0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16});
        seen(c);
    }
}

/* 142: forward; mul take sum mul */
static void p142(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(4, 0));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-0.39469424, -0.86253417, -0.5885747, 1.6354051}, RG_SHAPE(4, 1, 1,
        1));
    rg_tensor v3 = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){2.5, -0.75, 2.0}, RG_SHAPE(1, 3));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){0.65015185, -6.453531, -24.285402, 7.5367208, -12.320736, -3.1520948,
        23.17884, 17.284279, 6.5118065}, RG_SHAPE(3, 3));
    {
        rg_tensor v1 = rg_mul(2, v0);
        rg_tensor v4 = rg_take(v2, -2, v3);
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(0, 1), .keep = true);
        rg_tensor v8 = rg_mul(v7, 0.25);
        see(v1, RG_F32, RG_SHAPE(4, 0), (double[]){0}, (double[]){0});
        see(v4, RG_F32, RG_SHAPE(4, 1, 1), (double[]){-0.394694238901, -0.862534165382, -0.588574707508,
            1.63540506363}, (double[]){5.1e-07, 6.3e-07, 5.6e-07, 8.2e-07});
        see(v6, RG_F32, RG_SHAPE(1, 1), (double[]){3.75}, (double[]){6.4e-06});
        see(v8, RG_F32, RG_SHAPE(3, 3), (double[]){0.162537962198, -1.61338269711, -6.07135057449, 1.88418018818,
            -3.08018398285, -0.788023710251, 5.7947101593, 4.32106971741, 1.62795162201}, (double[]){3.2e-06, 4.9e-06,
            1.1e-05, 4.4e-06, 7.8e-06, 3.7e-06, 1.2e-05, 8.1e-06, 4.4e-06});
        seen(c);
    }
}

/* 143: backward; mul scatter_add sum gather sum backward */
static void p143(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-12.766259, 11.166983, 2.8660264, -14.884382, -21.178673,
        -9.689402, -10.630253, -17.928583, -7.3578935, 27.289015, 23.26277, 13.408189, 1.2936254, 14.697518,
        26.28248}, RG_SHAPE(5, 3)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F16, (uint16_t[]){0x3f6e, 0x411f, 0xbca5, 0xb00a, 0xc1f1, 0x3996, 0x3cab,
        0x3e0b, 0xc124, 0x3d1a, 0xc0f7, 0xc0aa}, RG_SHAPE(6, 2)));
    rg_tensor v3 = rg_from(c, RG_I32, (int32_t[]){3, 5, 1}, RG_SHAPE(3, 1));
    rg_tensor v4 = rg_param(rg_from(c, RG_F16, (uint16_t[]){0xbccc, 0x4193, 0xc108}, RG_SHAPE(3, 1)));
    rg_tensor v6 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0xbcda, 0x3f80}, RG_SHAPE(1, 2)));
    rg_tensor v8 = rg_from(c, RG_I64, (int64_t[]){0, 0, 0, 0, 1, 1, 2, 0, 1, 2, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 2},
        RG_SHAPE(3, 7));
    {
        rg_tensor v1 = rg_mul(v0, 3);
        rg_tensor v5 = rg_scatter_add(v2, -2, v3, v4);
        rg_tensor v7 = rg_sum(v6, .axes = RG_SHAPE(-1));
        rg_tensor v9 = rg_gather(v0, -1, v8);
        rg_tensor v10 = rg_sum(v7);
        rg_zero_grad(c);
        rg_backward(v10);
        rg_tensor v11 = rg_param_grad(v6);
        see(v11, RG_BF16, RG_SHAPE(1, 2), (double[]){1, 1}, (double[]){0.1, 0.12});
        seen(c);
    }
}

/* 144: assign; scatter_reduce permute permute sum */
static void p144(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xb875, 0x3c26, 0xbd69, 0x3b9e, 0xc0c0, 0xb5e0, 0x2620, 0xbf19,
        0xb842, 0xbc86, 0xc018, 0xbd69, 0xb9a3, 0x413a, 0x403f, 0x4067, 0x3f36, 0xc1ea}, RG_SHAPE(1, 6, 3));
    rg_tensor v1 = rg_from(c, RG_I64, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        RG_SHAPE(2, 5, 2));
    rg_tensor v2 = rg_from(c, RG_F16, (uint16_t[]){0x400e, 0x41b9, 0xb522, 0x4060, 0xbfd5, 0xb17c, 0xc1c7, 0xbb69,
        0xacda, 0xc0ea, 0xbeaa, 0xc17c, 0xbf5b, 0xbe17, 0xbf9d, 0xc143, 0xc1a4, 0xc0fa, 0xbaa8, 0xb786}, RG_SHAPE(2,
        5, 2));
    {
        rg_tensor v3 = rg_scatter_reduce(v0, 0, v1, v2, .how = RG_COMBINE_MIN, .exclude_self = true);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(-1, 1, 0));
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(0, 2, 1));
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(-2), .keep = true);
        see(v6, RG_F16, RG_SHAPE(3, 1, 6), (double[]){-1.666015625, -1.8388671875, -1.9580078125, -2.888671875,
            -0.83203125, 2.201171875, -2.7421875, -1.5224609375, -2.630859375, -2.48828125, -2.45703125, 1.802734375,
            -1.3525390625, -0.3671875, -0.5322265625, -1.3525390625, 2.123046875, -2.95703125}, (double[]){0.029,
            0.022, 0.027, 0.03, 0.015, 0.026, 0.042, 0.022, 0.03, 0.031, 0.021, 0.037, 0.018, 0.013, 0.015, 0.014,
            0.027, 0.054});
        seen(c);
    }
}

/* 145: forward; embedding scatter permute mul scatter */
static void p145(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.5, -0.5, 2.5, 2.25, -0.5, 2.75}, RG_SHAPE(2, 3));
    rg_tensor v1 = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE(3, 0));
    rg_tensor v3 = rg_from(c, RG_I32, (int32_t[]){0}, RG_SHAPE(2, 0, 3));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 0, 3));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){7.7000465, 27.963226, -24.42911, -28.794397, -4.519842, 22.58149,
        -12.719301}, RG_SHAPE(7));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){15.079094}, RG_SHAPE());
    rg_tensor v10 = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE(7, 0));
    rg_tensor v11 = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE(7, 0));
    {
        rg_tensor v2 = rg_embedding(v1, v0);
        rg_tensor v5 = rg_scatter(v2, -3, v3, v4);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(0, -1, 1));
        rg_tensor v9 = rg_mul(v7, v8);
        rg_tensor v12 = rg_scatter(v1, -2, v10, v11);
        see(v6, RG_F32, RG_SHAPE(3, 3, 0), (double[]){0}, (double[]){0});
        see(v9, RG_F32, RG_SHAPE(7), (double[]){116.109725055, 421.660116327, -368.368837959, -434.19342245,
            -68.1551243099, 340.50840227, -191.795537916}, (double[]){0.00036, 0.00057, 0.0006, 0.001, 0.00034,
            0.00063, 0.00057});
        see(v12, RG_I64, RG_SHAPE(3, 0), (double[]){0}, NULL);
        seen(c);
    }
}

/* 146: backward; add matmul_f8 permute mul mul sum backward */
static void p146(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){1.6316140222131494}, RG_SHAPE()));
    rg_tensor v1 = rg_param(rg_from(c, RG_F64, (double[]){2.1911222954120326}, RG_SHAPE()));
    rg_tensor v3 = rg_from(c, RG_F8E5M2, (uint8_t[]){0xc3, 0xb4, 0xc7, 0xc1, 0xc2, 0xc5, 0x43, 0x45, 0x44, 0xc6, 0x42,
        0x42, 0xc6, 0x46, 0xc4, 0x41, 0xc2, 0x47, 0x38, 0xc5, 0x47, 0xb9, 0xc2, 0x28}, RG_SHAPE(4, 6));
    rg_tensor v4 = rg_from(c, RG_F8E5M2, (uint8_t[]){0x40, 0x45, 0xc2, 0x42, 0xc5, 0xc1, 0xc2, 0x43, 0xc6, 0xc6, 0x2f,
        0x45, 0x46, 0x39, 0xc0, 0x48, 0x2f, 0xbf}, RG_SHAPE(6, 3));
    rg_tensor v8 = rg_param(rg_from(c, RG_F64, (double[]){-19.36476528053844, -15.515755283156022, -7.905736215514253,
        -18.820071737730316, -22.839811147604614, -23.81603012793341, -12.35602394873376, -20.713342170081173,
        22.884683350983167}, RG_SHAPE(3, 3)));
    rg_tensor v9 = rg_param(rg_from(c, RG_F64, (double[]){24.29238548266776, 5.704061043034805, 9.205097131302423,
        -12.486068862925531, 20.847418097993653, -11.464663236599279}, RG_SHAPE(2, 1, 3)));
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v5 = rg_matmul(v3, v4);
        rg_tensor v6 = rg_permute(v4, RG_SHAPE(1, 0));
        rg_tensor v7 = rg_mul(v0, 2.0);
        rg_tensor v10 = rg_mul(v8, v9);
        rg_tensor v11 = rg_sum(v10);
        rg_zero_grad(c);
        rg_backward(v11);
        rg_tensor v12 = rg_param_grad(v8);
        rg_tensor v13 = rg_param_grad(v9);
        see(v12, RG_F64, RG_SHAPE(3, 3), (double[]){11.80631661974223, 26.551479141028459, -2.2595661052968552,
            11.80631661974223, 26.551479141028459, -2.2595661052968552, 11.80631661974223, 26.551479141028459,
            -2.2595661052968552}, (double[]){2.2e-13, 4.5e-13, 1.4e-13, 2.9e-13, 1.6e-13, 2.2e-13, 2e-13, 2.7e-13,
            1.4e-13});
        see(v13, RG_F64, RG_SHAPE(2, 1, 3), (double[]){-50.540860967002516, -59.068908600841809, -8.8370829924644951,
            -50.540860967002516, -59.068908600841809, -8.8370829924644951}, (double[]){1.1e-12, 1e-12, 3.6e-13,
            1.1e-12, 1e-12, 5.7e-13});
        seen(c);
    }
}

/* 147: loop; masked_select masked_select */
static void p147(rg_ctx *c) {
    rg_tensor v3 = rg_from(c, RG_BOOL, (bool[]){0}, RG_SHAPE(0));
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.41345125460523, -1.5019595769257865}, RG_SHAPE(2));
        rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){0, 1}, RG_SHAPE(2));
        rg_tensor v2 = rg_masked_select(v0, v1, 0);
        rg_tensor v4 = rg_masked_select(v2, v3, 1);
        see(v4, RG_F64, RG_SHAPE(1), (double[]){0}, (double[]){1.1e-300});
        see(v2, RG_F64, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.1108818690813926, -0.020229444044337797}, RG_SHAPE(2));
        rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1, 0}, RG_SHAPE(2));
        rg_tensor v2 = rg_masked_select(v0, v1, 0);
        rg_tensor v4 = rg_masked_select(v2, v3, 1);
        see(v4, RG_F64, RG_SHAPE(1), (double[]){0}, (double[]){1.1e-300});
        see(v2, RG_F64, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 148: forward; one_hot sum add */
static void p148(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){0, 1}, RG_SHAPE(2, 1));
    {
        rg_tensor v1 = rg_one_hot(v0, 5);
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0, 1, 2), .keep = true);
        rg_tensor v3 = rg_add(v2, v2);
        see(v3, RG_I64, RG_SHAPE(1, 1, 1), (double[]){4}, NULL);
        seen(c);
    }
}

/* 149: grad2; layernorm permute grad grad */
static void p149(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.6219984639642826, 2.2495859421519544, -0.7540205137942055,
        0.5602891433911577, 0.6884506386884546, -0.777121721976382, -1.0603989256262678}, RG_SHAPE(1, 1, 7));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){0.4612285508757914, -0.6928365960706802, -0.27066354913550406,
        -0.9524295649797256, 2.9691282551098634, 1.9215961396826113, 0.3046346393407804}, RG_SHAPE(1, 7));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){1.1131505571028875, 2.179214105344272, -0.47236960043304776,
        0.8493480184653883, -0.8743097256770671, -1.8969254563217754, 0.6520766342070043}, RG_SHAPE(1, 7));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){2.6527231255282597, -2.330991757336929, -0.2692056860569858,
        2.720289563692626, -2.2537956676173243}, RG_SHAPE(5));
    rg_tensor v6 = rg_from(c, RG_F64, (double[]){0.27211626542371015, -1.6325168610364655, -0.4340574143613729,
        -0.4546584225724528, -1.3802319611819214}, RG_SHAPE(5));
    rg_tensor v9 = rg_from(c, RG_F64, (double[]){-1.2651385485421933, 1.529521289385655, -1.867437002469103,
        -1.9870159496054884, 0.8765740426184458}, RG_SHAPE(5));
    {
        rg_tensor v3 = rg_layernorm(v0, v1, v2, .axes = 2, .eps = 0.125);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(0));
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v2, v4), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        rg_tensor o10[2];
        rg_grad(v8, RG_TENSORS(v2, v4), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1];
        see(v10, RG_F64, RG_SHAPE(1, 7), (double[]){0, 0, 0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16});
        see(v11, RG_F64, RG_SHAPE(5), (double[]){0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16});
        seen(c);
    }
}

/* 150: backward; mul sum nonzero sum backward */
static void p150(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){2.6902966}, RG_SHAPE(1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0x3f8c, 0x3e28, 0x3fb0, 0x4033, 0xbf48, 0xbe9d, 0x3f0b,
        0x3e6c, 0xbf18, 0x3fd7, 0x3eca, 0xbe98, 0xc00f, 0x3f8e, 0x402e, 0x4017, 0x3f70, 0x3c69, 0xc004, 0xbf97,
        0xbeea}, RG_SHAPE(3, 7)));
    {
        rg_tensor v1 = rg_mul(0.25, v0);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v4 = rg_nonzero(v0, 5);
        rg_tensor v5 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v5);
        rg_tensor v6 = rg_param_grad(v2);
        see(v6, RG_BF16, RG_SHAPE(3, 7), (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
            (double[]){0.085, 0.1, 0.15, 0.13, 0.079, 0.15, 0.074, 0.095, 0.092, 0.071, 0.077, 0.058, 0.098, 0.11,
            0.13, 0.095, 0.15, 0.096, 0.083, 0.085, 0.19});
        seen(c);
    }
}

/* 151: forward; instancenorm */
static void p151(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.922786, 0.61894834, -1.770477, 1.4282106, 2.3003063, -2.4217455,
        -0.51525193, -1.5175691, -0.03756682, -2.2035966, -2.9237313, -0.5818376}, RG_SHAPE(1, 2, 6));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-2.5243511, 1.9734691}, RG_SHAPE(2));
    {
        rg_tensor v2 = rg_instancenorm(v0, v1, v1, .eps = 0.125);
        see(v2, RG_F32, RG_SHAPE(1, 2, 6), (double[]){0.536339751001, -3.86749011756, -0.89645335195, -4.87373537519,
            -5.95810838106, -0.0866592452074, 3.40353481941, 1.56902128757, 4.27782877584, 0.313403935689,
            -1.00463890326, 3.28166491363}, (double[]){5.6e-06, 1e-05, 4.3e-06, 8.2e-06, 1.3e-05, 4e-06, 8.8e-06,
            4.8e-06, 1.1e-05, 5e-06, 5.4e-06, 7.3e-06});
        seen(c);
    }
}

/* 152: grad; sum sum groupnorm groupnorm grad */
static void p152(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x41ed, 0xbd21, 0xb967, 0x3f03}, RG_SHAPE(1, 4, 1));
    rg_tensor v3 = rg_from(c, RG_F16, (uint16_t[]){0xbbf8, 0xc1ed, 0x4125, 0xc1db, 0xb814}, RG_SHAPE(1, 1, 5));
    rg_tensor v4 = rg_from(c, RG_F16, (uint16_t[]){0x3d86}, RG_SHAPE(1));
    rg_tensor v6 = rg_from(c, RG_BF16, (uint16_t[]){0xbf76, 0xbf96, 0x3e70, 0xbffc, 0x3ea5, 0x3f00, 0x3e1d, 0x403d,
        0x3ea0, 0x3f8b, 0xbffc, 0xbe03}, RG_SHAPE(2, 3, 2));
    rg_tensor v7 = rg_from(c, RG_BF16, (uint16_t[]){0xc01a, 0x3ef7, 0x3f62}, RG_SHAPE(3));
    rg_tensor v9 = rg_from(c, RG_BF16, (uint16_t[]){0x3fc7, 0xbe96, 0xbeb5, 0xbfda, 0x3f8b, 0x3ee3, 0xbfec, 0xbf50,
        0x3d83, 0x3f1d, 0xbfa2, 0x3f52}, RG_SHAPE(2, 3, 2));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, -1), .keep = true);
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(-3, 1, 2));
        rg_tensor v5 = rg_groupnorm(v3, 1, v4, v4);
        rg_tensor v8 = rg_groupnorm(v6, 1, v7, v7);
        rg_tensor o10[2];
        rg_grad(v8, RG_TENSORS(v6, v4), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1];
        see(v10, RG_BF16, RG_SHAPE(2, 3, 2), (double[]){-3.25289382435, 1.75944203077, -0.260388447481,
            0.696248970697, 0.905638283236, 0.151952987126, 2.38537471652, -0.23910858126, -0.666954309498,
            -0.744910981412, -0.686546908354, -0.0478539359999}, (double[]){0.39, 0.2, 0.07, 0.083, 0.11, 0.085, 0.19,
            0.085, 0.092, 0.1, 0.087, 0.087});
        see(v11, RG_F16, RG_SHAPE(1), (double[]){0}, (double[]){3.1e-07});
        seen(c);
    }
}

/* 153: grad2; mul batchnorm mul add add grad grad */
static void p153(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.03398353, 10.145819, -19.333, 12.955601, -13.420123}, RG_SHAPE(5));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-22.228817, -24.023384, 7.4510894, 0.69208556, -13.986278},
        RG_SHAPE(5));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-0.1053994, -1.7958455, 1.180657, 0.3920728, 1.9135067, -0.8677286,
        -0.3911197, -1.1073672, -2.7462692, 1.6411631, 0.5704475, -1.2903576}, RG_SHAPE(3, 4, 1, 1));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-0.31721443, -2.7685654, 2.6206286, -1.7692032}, RG_SHAPE(4));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0.28055906, 1.615214, -0.04813456, 2.007394}, RG_SHAPE(4));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){1.2899897, 2.6922898, 2.9319813, 0.62814415}, RG_SHAPE(4));
    rg_tensor v11 = rg_from(c, RG_F32, (float[]){-1.45803, -1.9141974, 1.2076309, 0.5353365}, RG_SHAPE(4));
    rg_tensor v15 = rg_from(c, RG_F32, (float[]){0.21537876, -0.18696676, 0.93157965, 0.27040693}, RG_SHAPE(4));
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor v7 = rg_batchnorm(v3, v5, v6, v4, v4);
        rg_tensor v8 = rg_mul(v6, v5);
        rg_tensor v9 = rg_add(v4, v5);
        rg_tensor v10 = rg_add(v9, v9);
        rg_tensor o12[3];
        rg_grad(v10, RG_TENSORS(v5, v4, v0), o12, .seed = v11, .unused_ok = true);
        rg_tensor v12 = o12[0], v13 = o12[1], v14 = o12[2];
        rg_tensor o16[3];
        rg_grad(v12, RG_TENSORS(v5, v4, v0), o16, .seed = v15, .unused_ok = true);
        rg_tensor v16 = o16[0], v17 = o16[1], v18 = o16[2];
        see(v16, RG_F32, RG_SHAPE(4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v17, RG_F32, RG_SHAPE(4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v18, RG_F32, RG_SHAPE(5), (double[]){0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07});
        see(v12, RG_F32, RG_SHAPE(4), (double[]){-2.91605997086, -3.82839488983, 2.41526174545, 1.07067298889},
            (double[]){9.6e-06, 8.8e-06, 6.4e-06, 4.1e-06});
        see(v13, RG_F32, RG_SHAPE(4), (double[]){-2.91605997086, -3.82839488983, 2.41526174545, 1.07067298889},
            (double[]){7.3e-06, 6.5e-06, 6.1e-06, 5.3e-06});
        see(v14, RG_F32, RG_SHAPE(5), (double[]){0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07});
        seen(c);
    }
}

/* 154: forward; sum conv1d add add */
static void p154(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BOOL, (bool[]){1, 0, 1, 0}, RG_SHAPE(4));
    rg_tensor v2 = rg_from(c, RG_BF16, (uint16_t[]){0xbfd1, 0x3ebd, 0xc06c, 0xbfc2, 0x410b, 0x40a9, 0xc0fa, 0xc0bf,
        0x3fc9, 0x40e1}, RG_SHAPE(1, 2, 5));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0x3f32, 0xc04a, 0xc072, 0x4047, 0x40b9, 0xc0a4}, RG_SHAPE(3, 2,
        1));
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0xc025, 0xbf9a, 0x401a}, RG_SHAPE(3));
    rg_tensor v6 = rg_from(c, RG_F64, (double[]){-2.648163998468909, -1.5275761737909845, 2.6191738614312836,
        2.5745543428807967}, RG_SHAPE(4));
    rg_tensor v8 = rg_from(c, RG_U64, (uint64_t[]){10, 10, 9, 8, 3, 10}, RG_SHAPE(6, 1));
    {
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v5 = rg_conv1d(v2, v3, .bias = v4, .stride = RG_SHAPE(2), .padding = RG_SHAPE(2));
        rg_tensor v7 = rg_add(v0, v6);
        rg_tensor v9 = rg_add(v8, 5);
        see(v1, RG_I64, RG_SHAPE(), (double[]){2}, NULL);
        see(v5, RG_BF16, RG_SHAPE(1, 3, 5), (double[]){-2.578125, -20.3823852539, 13.6967773438, -18.7299804688,
            -2.578125, -1.203125, 21.3923339844, -5.81884765625, -12.1899414062, -1.203125, 2.40625, -34.0998535156,
            11.677734375, 16.595703125, 2.40625}, (double[]){0.45, 1.9, 1.1, 1.6, 0.42, 0.32, 1.1, 0.53, 1.1, 0.3,
            0.37, 2.2, 0.85, 1, 0.44});
        see(v7, RG_F64, RG_SHAPE(4), (double[]){-1.6481639984689092, -1.5275761737909845, 3.6191738614312836,
            2.5745543428807967}, (double[]){1.8e-14, 1.8e-14, 2.8e-14, 2.9e-14});
        see(v9, RG_U64, RG_SHAPE(6, 1), (double[]){15, 15, 14, 13, 8, 15}, NULL);
        seen(c);
    }
}

/* 155: forward; rmsnorm realize sum */
static void p155(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.5, -1.25, 2.25, -1.75, -0.75, -1.75, 2.25, -0.5, 2.75, -2.25, -0.5,
        2.0, -3.0, -2.0, 1.25, 2.5, 2.75, -2.25, 0.5, 0.75, -0.5, 1.5, -1.0, -2.0, -0.5, 2.5, 3.0, -2.0, -1.0, -0.25,
        -0.5, -1.5, -3.0, 1.0, -1.0, -0.5, 0.75, 2.25, 1.25, -2.5, 0.5, 0.25, -2.0, 2.75, 0.25, -0.5, -1.75, -2.25,
        -2.75, -1.5, 2.0, -2.75, 2.75, 2.25}, RG_SHAPE(6, 3, 3));
    {
        rg_tensor v1 = rg_rmsnorm(v0, RG_NONE);
        rg_realize(v0);
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(2));
        see(v2, RG_F32, RG_SHAPE(6, 3), (double[]){-0.290700458543, -2.8465360334, 2.1721960334, -0.42568470719,
            -1.70205456437, 1.19601893905, 1.26023428421, -0.964899285013, 2.19970459657, -2.50184375363,
            -2.55376626128, -0.577346420226, 2.74574197026, -1.18321325214, 0.507999852518, -2.69327038373,
            -1.04859197172, 0.867364319893}, (double[]){4.4e-06, 5.1e-06, 4.9e-06, 3.7e-06, 6e-06, 6.1e-06, 3.3e-06,
            4.7e-06, 4.6e-06, 5.2e-06, 5.5e-06, 3.1e-06, 5e-06, 3.7e-06, 2.9e-06, 4.2e-06, 3.6e-06, 3.4e-06});
        seen(c);
    }
}

/* 156: assign; conv2d */
static void p156(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3, 5, 6));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-5.8427606, 8.4039955, -5.3107705, -7.841329, 6.2725186, 1.9940256,
        -4.2854834, -7.796529, 4.8815475, -3.4707515, 8.395739, -4.405417, 5.6779633, -0.776723, 1.2946124, 0.6668091,
        -2.779774, -6.45996, 5.907503, -1.6708775, -7.1856585, -5.371989, -7.810993, -3.7641609, -1.0508082,
        -1.3220401, 1.3407531, -1.8003469, 3.5984452, -1.7348634, -4.8680043, -7.6299543, -0.09742214, -7.7079163,
        7.987132, 6.010559, 8.823782, -0.573479, 7.8951716, -4.381901, -3.584471, -0.7567134, -8.272386, 1.0492215,
        8.812667, 0.26124224, 5.3118706, 2.6745148, 2.4414873, -5.936726, -4.0629706, 7.0339317, -3.9762986,
        4.103895}, RG_SHAPE(2, 3, 3, 3));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.7128847, -2.219774}, RG_SHAPE(2));
    {
        rg_tensor v3 = rg_conv2d(v0, v1, .bias = v2, .padding = RG_SHAPE(1, 1));
        see(v3, RG_F32, RG_SHAPE(0, 2, 5, 6), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 157: forward; conv_transpose1d sum add */
static void p157(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xc045, 0xc0eb, 0x40ec, 0x40cf, 0xc0cd, 0x4083, 0xc050, 0x410b},
        RG_SHAPE(1, 2, 4));
    rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0xc0d1, 0xc0b8, 0x40e2, 0xc091, 0x4062, 0x40cf, 0xc0a2, 0xbfba,
        0x4092, 0x3ff0, 0x3fce, 0x40a4}, RG_SHAPE(2, 2, 3));
    rg_tensor v2 = rg_from(c, RG_BF16, (uint16_t[]){0xbff1, 0x403d}, RG_SHAPE(2));
    rg_tensor v4 = rg_from(c, RG_U8, (uint8_t[]){9, 3, 6, 1}, RG_SHAPE(4));
    {
        rg_tensor v3 = rg_conv_transpose1d(v0, v1, .bias = v2, .dilation = RG_SHAPE(1));
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v6 = rg_add(v2, 0.5);
        see(v3, RG_BF16, RG_SHAPE(1, 2, 6), (double[]){50.6528320312, 52.3647460938, -48.2875976562, -158.983398438,
            -14.4443359375, 83.439453125, 4.88916015625, 22.7255859375, -108.646484375, -15.78125, 70.828125,
            89.3212890625}, (double[]){5, 4.9, 4.4, 7.6, 2, 7.4, 1.5, 2.5, 7.5, 2.1, 4.5, 8.4});
        see(v5, RG_I64, RG_SHAPE(1), (double[]){19}, NULL);
        see(v6, RG_BF16, RG_SHAPE(2), (double[]){-1.3828125, 3.453125}, (double[]){0.096, 0.29});
        seen(c);
    }
}

/* 158: grad; permute conv_transpose2d add sum sum grad */
static void p158(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.7947083, 2.5663807, -3.5699728, -3.707129, 0.50396043, -1.1691383,
        -3.398211, 7.1229544, 3.6137965, -3.7860014, -2.736767, -1.7254708}, RG_SHAPE(1, 2, 3, 2));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.6590114, 4.246655, 6.0951915, -5.6108303, 7.5323, 4.2179594,
        6.526496, 0.95391375}, RG_SHAPE(2, 2, 2, 1));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-1.2631992, -0.33434662}, RG_SHAPE(2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){1.0237517, 0.49240667}, RG_SHAPE(1, 2, 1));
    rg_tensor v10 = rg_from(c, RG_F32, (float[]){-0.4539716, 0.83405966, -0.019087864, -0.99298114, -1.4455843,
        -1.8252468, -1.6375751, 1.3641747, -0.8989428, 0.37923658, -1.1270771, -1.778503, -0.5701475, -1.1304975,
        -0.7343735, -0.5889199, -1.4735242, 0.15578039, -0.7536862, 1.0765108}, RG_SHAPE(1, 2, 5, 2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v5 = rg_conv_transpose2d(v2, v3, .bias = v4, .dilation = RG_SHAPE(2, 1));
        rg_tensor v7 = rg_add(2.0, v6);
        rg_tensor v8 = rg_sum(v6, .axes = RG_SHAPE(0, 1), .keep = true);
        rg_tensor v9 = rg_sum(v7, .axes = RG_SHAPE(-3, 1, 2), .keep = true);
        rg_tensor o11[2];
        rg_grad(v5, RG_TENSORS(v0, v3), o11, .seed = v10, .unused_ok = true);
        rg_tensor v11 = o11[0], v12 = o11[1];
        see(v11, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v12, RG_F32, RG_SHAPE(2, 2, 2, 1), (double[]){8.56393380983, -0.751776539818, 5.13028058423,
            3.58549234499, 18.2797460122, -17.3655445752, -3.59250829139, -7.40891903652}, (double[]){2.6e-05, 2e-05,
            1.8e-05, 1.7e-05, 3.5e-05, 3.6e-05, 1.8e-05, 2.4e-05});
        seen(c);
    }
}

/* 159: forward; permute mul mul mul conv3d */
static void p159(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.25, -1.75, 2.25, -2.25, 0.25, 0.5, -2.75, -1.75}, RG_SHAPE(4, 2));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 2));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){9.770781, 19.386559}, RG_SHAPE(2));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 3, 2, 2, 2));
    rg_tensor v8 = rg_from(c, RG_F64, (double[]){1.673419959465095, 7.187127172011021, 7.5933051966155,
        -7.030624615995004, -6.634733594259556, 8.864657673501092, 0.3626913317482181, 2.116230321633175,
        -8.564293062221777}, RG_SHAPE(1, 3, 1, 3, 1));
    rg_tensor v9 = rg_from(c, RG_F64, (double[]){1.75}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, -1));
        rg_tensor v2 = rg_mul(3, v1);
        rg_tensor v4 = rg_mul(v3, -1.5);
        rg_tensor v6 = rg_mul(v4, v5);
        rg_tensor v10 = rg_conv3d(v7, v8, .bias = v9, .stride = RG_SHAPE(3), .padding = RG_SHAPE(1), .dilation =
            RG_SHAPE(2, 1, 2));
        see(v2, RG_F64, RG_SHAPE(4, 2), (double[]){-0.75, -5.25, 6.75, -6.75, 0.75, 1.5, -8.25, -5.25},
            (double[]){2.5e-14, 5.3e-14, 5.4e-14, 6.9e-14, 2.5e-14, 2.9e-14, 1.1e-13, 8.3e-14});
        see(v6, RG_F32, RG_SHAPE(0, 2), (double[]){0}, (double[]){0});
        see(v10, RG_F64, RG_SHAPE(0, 1, 2, 1, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 160: grad; normalize sum permute grad */
static void p160(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.123991884, 2.6766582, 0.4364026}, RG_SHAPE(3));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-1.7594626, -0.9795913, -1.3368132}, RG_SHAPE(3));
    {
        rg_tensor v1 = rg_normalize(v0, 2.0, 0);
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v3 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor o5[1];
        rg_grad(v3, RG_TENSORS(v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0];
        see(v5, RG_F32, RG_SHAPE(3), (double[]){-0.666603601401, 0.0387808934554, -0.427258306771},
            (double[]){2.5e-06, 9.8e-07, 1.2e-06});
        seen(c);
    }
}

/* 161: grad2; conv_transpose3d sum grad grad */
static void p161(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){3.5051136, -8.794601, -3.9962788, 1.7680248, -8.06351, 2.3443134,
        -4.5566883, -1.4050499, 8.791316, -5.684795, 8.600159, 0.19240779, 8.651605, 8.64068, 2.920316, -4.5868134,
        -6.225368, 7.629171}, RG_SHAPE(1, 1, 2, 3, 3));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){5.7710752, -5.198579, -2.9354143, -7.1447463, 2.0196304, -6.852546,
        -8.143865, -7.299874, 4.305436}, RG_SHAPE(1, 3, 1, 1, 3));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-0.42199504, 1.938452, -1.3718342, 1.3561511, 1.0248629, -1.4633733,
        -1.8828757, 1.6678809, -0.6908278}, RG_SHAPE(1, 3, 1, 3));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-0.14008352, 1.0634425, 1.0579455, -0.41842368, 0.19418891,
        -0.02725897, 0.61797327, -1.1612937, -0.20590575}, RG_SHAPE(1, 3, 1, 1, 3));
    {
        rg_tensor v2 = rg_conv_transpose3d(v0, v1);
        rg_tensor v3 = rg_sum(v1, .axes = RG_SHAPE(2));
        rg_tensor o5[2];
        rg_grad(v3, RG_TENSORS(v0, v1), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0], v6 = o5[1];
        rg_tensor o8[2];
        rg_grad(v6, RG_TENSORS(v0, v1), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        see(v8, RG_F32, RG_SHAPE(1, 1, 2, 3, 3), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
            (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v9, RG_F32, RG_SHAPE(1, 3, 1, 1, 3), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 162: backward; max_pool2d mul sum backward */
static void p162(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-1.1830628, -1.204164, -0.3732941, -2.9956274, 0.74340826,
        -1.0921295, 0.93180084, -2.2496607, 1.9961439, -1.6261454, -1.8267695, -0.29878142, 2.5570796, -2.9448757,
        2.434156, 2.6591709, -0.49618176, 1.3982071, 1.5116173, 1.6907418, -1.4452703, 1.4499233, 1.9147216,
        1.3287971, 2.525659}, RG_SHAPE(1, 1, 5, 5)));
    {
        rg_tensor v1 = rg_max_pool2d(v0, .size = RG_SHAPE(1, 1), .stride = RG_SHAPE(3, 3), .ceil = true);
        rg_tensor v2 = rg_mul(v1, 0.5);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-4, 1, -2, 3));
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        see(v4, RG_F32, RG_SHAPE(1, 1, 5, 5), (double[]){0.5, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0,
            0.5, 0, 0, 0, 0, 0, 0}, (double[]){1.3e-06, 3.2e-07, 3.2e-07, 1.2e-06, 3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07,
            3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07, 1.1e-06, 3.2e-07, 3.2e-07, 1.4e-06,
            3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07, 3.2e-07});
        seen(c);
    }
}

/* 163: forward; avg_pool1d max_pool1d */
static void p163(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x3fd4, 0xc031, 0x3fce, 0x3fc5, 0x3f2a, 0x400d, 0xbffc, 0xc015,
        0x403b, 0x4021, 0x3f48, 0x3fa0, 0x3f1d, 0x3e60, 0x3fd6}, RG_SHAPE(1, 3, 5));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 3, 5));
    {
        rg_tensor v1 = rg_avg_pool1d(v0, .size = RG_SHAPE(3), .padding = RG_SHAPE(1), .exclude_padding = true);
        rg_tensor v3 = rg_max_pool1d(v2, .size = RG_SHAPE(3), .padding = RG_SHAPE(1), .ceil = true);
        see(v1, RG_BF16, RG_SHAPE(1, 3, 2), (double[]){-0.5546875, 1.27083333333, 0.1171875, 1.03645833333, 1.015625,
            0.834635416667}, (double[]){0.06, 0.076, 0.028, 0.066, 0.098, 0.086});
        see(v3, RG_F64, RG_SHAPE(0, 3, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 164: grad; permute sum avg_pool2d sum grad */
static void p164(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.969370564490788, 2.21692966800929}, RG_SHAPE(2));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-1.5837460587277845, -2.3191940223862, 0.5622706637967676,
        0.050504097684685334, -0.944464141519513, 1.8043840415477952}, RG_SHAPE(2, 3, 1, 1));
    rg_tensor v6 = rg_from(c, RG_F64, (double[]){0.9425564143357885}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_sum(v0);
        rg_tensor v4 = rg_avg_pool2d(v3, .size = RG_SHAPE(1, 1), .stride = RG_SHAPE(2, 1), .ceil = true);
        rg_tensor v5 = rg_sum(v4, .keep = true);
        rg_tensor o7[2];
        rg_grad(v2, RG_TENSORS(v3, v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F64, RG_SHAPE(2, 3, 1, 1), (double[]){0, 0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16});
        see(v8, RG_F64, RG_SHAPE(2), (double[]){0.94255641433578852, 0.94255641433578852}, (double[]){9.9e-15,
            5.9e-15});
        see(v2, RG_F64, RG_SHAPE(), (double[]){4.186300232500078}, (double[]){4.7e-14});
        seen(c);
    }
}

/* 165: backward; permute max_pool2d_index sum backward */
static void p165(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-0.7718290936393939, -0.14157490839042897,
        -1.6208865182250116, -1.4815663677303075, -0.8652158917009118, 1.5241685867892718, -0.9793210577247367,
        -2.0748830748456406}, RG_SHAPE(4, 2, 1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){0.4061427134310507, -1.3202932954920337,
        -0.4554028863894084, 2.6105511516677353, -1.9791971427603323, 1.0443035537138092, -2.3778845790971284,
        0.6442037036295174, -0.15803722732812542, 0.10604761924003148, 0.45989362217589225, -2.0667461312832467},
        RG_SHAPE(2, 1, 6, 1)));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-3, 2, 1));
        rg_tensor v3 = rg_max_pool2d_index(v2, .size = RG_SHAPE(3, 1), .stride = RG_SHAPE(3, 3), .ceil = true);
        rg_tensor v4 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        see(v5, RG_F64, RG_SHAPE(4, 2, 1), (double[]){1, 1, 1, 1, 1, 1, 1, 1}, (double[]){1.4e-14, 1.6e-14, 1.4e-14,
            1.2e-14, 1.4e-14, 1.2e-14, 1.1e-14, 1.1e-14});
        seen(c);
    }
}

/* 166: forward; avg_pool3d permute add permute sum */
static void p166(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 3, 1, 6));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0xbeb7, 0xbddc, 0xbfbb, 0x3fc6, 0xc026, 0xbfb4, 0xc032},
        RG_SHAPE(7));
    rg_tensor v4 = rg_scalar(c, RG_BF16, 7.15625);
    {
        rg_tensor v1 = rg_avg_pool3d(v0, .size = RG_SHAPE(3, 1, 1), .stride = RG_SHAPE(2, 2, 2), .ceil = true,
            .exclude_padding = true);
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(0, 4, 2, -4, 3));
        rg_tensor v5 = rg_add(v3, v4);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(0));
        rg_tensor v7 = rg_sum(v2, .axes = RG_SHAPE(-5, -4, -3, -2, -1));
        see(v1, RG_F32, RG_SHAPE(0, 4, 1, 1, 3), (double[]){0}, (double[]){0});
        see(v2, RG_F32, RG_SHAPE(0, 6, 3, 4, 1), (double[]){0}, (double[]){0});
        see(v6, RG_BF16, RG_SHAPE(7), (double[]){6.798828125, 7.048828125, 5.6953125, 8.703125, 4.5625, 5.75, 4.375},
            (double[]){0.58, 0.43, 0.6, 0.75, 0.32, 0.52, 0.44});
        see(v7, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
}

/* 167: assign; sum adaptive_avg_pool2d */
static void p167(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbf8a}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-0.78354686, 2.334366, 0.3806357, -2.2750385, 0.32087, 0.3582074,
        0.6495265, -0.79838586, 2.364666, -0.717013, -0.18528612, 2.613401, 1.8921102, -2.0470142, 1.2970451,
        -2.931763, 0.14667551, -2.8036556, -2.1724725, 2.871291, -2.6381211, 2.4437165, -2.289028, -1.1360279,
        -0.68377584, 0.651601, 2.0166087, 0.7582357, -2.531652, -0.52940905, -0.30363846, 1.374893}, RG_SHAPE(1, 2, 4,
        4));
    {
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v3 = rg_adaptive_avg_pool2d(v2, 5, 2);
        see(v1, RG_BF16, RG_SHAPE(), (double[]){-1.078125}, (double[]){0.11});
        see(v3, RG_F32, RG_SHAPE(1, 2, 5, 2), (double[]){0.775409609079, -0.947201386094, 0.557474158704,
            -0.510815538466, 0.581682600081, 0.569813858718, 0.373187243938, 0.198349248618, -0.0774520039558,
            -0.817358911037, -1.3284900561, 0.349409222603, -0.712846178561, -0.681559354067, -0.0566448569298,
            -0.162552863359, -0.773308962584, 0.96152472496, -1.53053051233, 0.535627245903}, (double[]){1.6e-06,
            1.9e-06, 1.5e-06, 1e-06, 1.5e-06, 1.3e-06, 1.5e-06, 1.3e-06, 1.3e-06, 2e-06, 2.2e-06, 1.8e-06, 1.4e-06,
            2.3e-06, 1e-06, 1.4e-06, 1.8e-06, 1.7e-06, 2.9e-06, 1.4e-06});
        seen(c);
    }
}

/* 168: backward; add add max_unpool2d sum backward */
static void p168(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){0.986911, -0.9466868, -2.501048, -2.4801044, 1.5182134,
        1.6919868, -2.948955, 1.5227058}, RG_SHAPE(2, 4)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F32, (float[]){-2.418901}, RG_SHAPE()));
    rg_tensor v3 = rg_param(rg_from(c, RG_F32, (float[]){-0.091946356, -2.9077275, 2.49044}, RG_SHAPE(3)));
    rg_tensor v4 = rg_param(rg_from(c, RG_F32, (float[]){2.9354749, 0.8238479, 1.9116989}, RG_SHAPE(3)));
    rg_tensor v6 = rg_param(rg_from(c, RG_F32, (float[]){-2.2129056, -2.3323302, 1.4411372, 1.0540353, -1.1350831,
        -0.13675204, 0.74363256, -0.71777636}, RG_SHAPE(2, 2, 1, 2)));
    rg_tensor v7 = rg_from(c, RG_I64, (int64_t[]){0, 10, 13, 15, 5, 6, 2, 5}, RG_SHAPE(2, 2, 1, 2));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v5 = rg_add(v3, v4);
        rg_tensor v8 = rg_max_unpool2d(v6, v7, 4, 4);
        rg_tensor v9 = rg_sum(v8);
        rg_zero_grad(c);
        rg_backward(v9);
        rg_tensor v10 = rg_param_grad(v6);
        see(v10, RG_F32, RG_SHAPE(2, 2, 1, 2), (double[]){1, 1, 1, 1, 1, 1, 1, 1}, (double[]){2.8e-06, 1.8e-06,
            2.3e-06, 1.6e-06, 2.3e-06, 2.6e-06, 2.6e-06, 2.1e-06});
        seen(c);
    }
}

/* 169: forward; add interpolate mul realize permute */
static void p169(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I32, (int32_t[]){5, 9, 0}, RG_SHAPE(1, 3));
    rg_tensor v2 = rg_from(c, RG_F16, (uint16_t[]){0xc000, 0x4080, 0xc000, 0xbd00, 0x3c00, 0xbc00, 0x4080, 0x3d00,
        0xb800, 0x3e00, 0x3d00, 0xbd00, 0x4200, 0xba00, 0x3f00, 0xbe00}, RG_SHAPE(1, 4, 4));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-14.92294647180304}, RG_SHAPE());
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_interpolate(v2, RG_SHAPE(3), .mode = RG_RESIZE_NEAREST_EXACT);
        rg_tensor v5 = rg_mul(v3, v4);
        rg_realize(v0);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(2, 1, 0));
        see(v1, RG_I32, RG_SHAPE(1, 3), (double[]){10, 18, 0}, NULL);
        see(v6, RG_F64, RG_SHAPE(3, 4, 1), (double[]){29.845892943606081, -14.922946471803041, 7.4614732359015203,
            -44.768839415409118, 29.845892943606081, -33.576629561556842, -18.653683089753802, -26.11515632565532,
            18.653683089753802, -18.653683089753802, 18.653683089753802, 22.384419707704559}, (double[]){0.17, 0.18,
            0.12, 0.2, 0.3, 0.33, 0.19, 0.17, 0.13, 0.18, 0.18, 0.23});
        seen(c);
    }
}

/* 170: grad; cross_entropy add permute mul sum grad */
static void p170(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){4.606451, -8.62982, 5.6818986, 5.988795, 2.6121979, -7.326788,
        -7.370511, 4.4880376, -1.7562072, 8.902574, 6.243826, 5.136732}, RG_SHAPE(2, 2, 3));
    rg_tensor v1 = rg_from(c, RG_I64, (int64_t[]){1, 0, 0, 0, 1, 1}, RG_SHAPE(2, 3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.7749718, 1.7983783, 1.6581304, -2.612948, 1.5439605, 1.1398294},
        RG_SHAPE(2, 3));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){26.373058}, RG_SHAPE());
    rg_tensor v9 = rg_from(c, RG_F32, (float[]){-1.9324749}, RG_SHAPE());
    {
        rg_tensor v2 = rg_cross_entropy(v0, v1, .reduction = RG_MEAN, .label_smoothing = 0.125);
        rg_tensor v4 = rg_add(v3, v1);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(1, 0));
        rg_tensor v7 = rg_mul(v5, v6);
        rg_tensor v8 = rg_sum(v6);
        rg_tensor o10[1];
        rg_grad(v2, RG_TENSORS(v0), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0];
        see(v10, RG_F32, RG_SHAPE(2, 2, 3), (double[]){-0.0444897078482, 0.301944972665, -0.020129224664,
            0.0444897078482, -0.301944972665, 0.020129224664, 0.30194916798, -0.0273183042455, 0.0198033912246,
            -0.30194916798, 0.0273183042455, -0.0198033912246}, (double[]){4.7e-07, 8.1e-07, 4e-07, 4.8e-07, 6.8e-07,
            3.7e-07, 9e-07, 6.1e-07, 3.7e-07, 7.8e-07, 6e-07, 4.1e-07});
        seen(c);
    }
}

/* 171: grad2; nll_loss grad grad */
static void p171(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.6664289, -4.015714, -6.967057, -8.849487, -8.110808, -4.4608383,
        -2.565645, -2.5574393, -2.3930283, -5.5418143}, RG_SHAPE(2, 5));
    rg_tensor v1 = rg_from(c, RG_I64, (int64_t[]){2, 0}, RG_SHAPE(2));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){1.2562486}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-0.9670207, -0.9563143, -1.4783678, 1.343686, 0.80598265, 0.8935506,
        -0.97365123, 0.8775519, -0.5830104, 0.22139418}, RG_SHAPE(2, 5));
    {
        rg_tensor v2 = rg_nll_loss(v0, v1, .reduction = RG_MEAN);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        see(v6, RG_F32, RG_SHAPE(2, 5), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 172: backward; mul attention sum backward */
static void p172(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){8.173541, 27.280039, 6.125065, -13.953386, -6.802902,
        -6.195711, 6.648945, 4.8232203, 23.477537, -8.310821, -0.90672255, 11.770348, 15.110869, -19.244572,
        -29.29177, 4.182242, 8.859915, -0.8595838, -10.706102, 6.7048526, 12.597062, -1.074315, -19.170143, 20.723066,
        20.299501}, RG_SHAPE(5, 1, 5, 1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0xc05d, 0x400e, 0xc080, 0x402a, 0x3f85, 0x3f4a, 0xbe0b,
        0xc019}, RG_SHAPE(1, 2, 4, 1)));
    rg_tensor v3 = rg_param(rg_from(c, RG_BF16, (uint16_t[]){0x4047}, RG_SHAPE(1, 1, 1, 1)));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v4 = rg_attention(v2, v3, v3, .scale = 0.5);
        rg_tensor v5 = rg_sum(v4);
        rg_zero_grad(c);
        rg_backward(v5);
        rg_tensor v6 = rg_param_grad(v2);
        rg_tensor v7 = rg_param_grad(v3);
        see(v6, RG_BF16, RG_SHAPE(1, 2, 4, 1), (double[]){0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v7, RG_BF16, RG_SHAPE(1, 1, 1, 1), (double[]){8}, (double[]){0.62});
        seen(c);
    }
}

/* 173: grad; sum bce sum grad */
static void p173(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.8072765}, RG_SHAPE(1, 1, 1));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0.4535602, 0.23990177, 0.7129077, 0.4508281, 0.6872502, 0.8732197,
        0.69217294, 0.7600429, 0.32637927, 0.10755999}, RG_SHAPE(5, 2));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){1.6018617, -1.7529346, -1.7260282, 0.7394014, -2.802801, 0.41863602,
        -2.7776225, -2.1088598}, RG_SHAPE(2, 4));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-0.23640133}, RG_SHAPE());
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(2), .keep = true);
        rg_tensor v3 = rg_bce(v2, v2, .reduction = RG_MEAN);
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(1), .keep = true);
        rg_tensor o7[2];
        rg_grad(v3, RG_TENSORS(v0, v2), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F32, RG_SHAPE(1, 1, 1), (double[]){0}, (double[]){2.5e-07});
        see(v8, RG_F32, RG_SHAPE(5, 2), (double[]){-0.00440406529188, -0.0272622309042, 0.0215018373912,
            -0.00466479813361, 0.0186117563497, 0.0456191166683, 0.0191555463988, 0.0272550586191, -0.0171298092512,
            -0.0500204088057}, (double[]){2.9e-07, 3e-07, 3.4e-07, 2.9e-07, 3.2e-07, 4.2e-07, 3e-07, 3.9e-07, 2.9e-07,
            3.5e-07});
        seen(c);
    }
}

/* 174: loop; permute bce_with_logits */
static void p174(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.6309354, -1.7835473, 1.9613774, -0.52993786, -1.5866789},
        RG_SHAPE(1, 5));
    {
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0.13581397, 0.035548672, 0.32122675, 0.13170315, 0.50022054},
            RG_SHAPE(5, 1));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_bce_with_logits(v1, v2, .reduction = RG_SUM);
        see(v3, RG_F32, RG_SHAPE(), (double[]){3.62104041981}, (double[]){7.3e-06});
        see(v1, RG_F32, RG_SHAPE(5, 1), (double[]){-2.63093543053, -1.78354728222, 1.96137738228, -0.52993786335,
            -1.58667886257}, (double[]){1.3e-06, 1.1e-06, 1.1e-06, 7.9e-07, 1.1e-06});
        seen(c);
    }
    {
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0.78112733, 0.63598824, 0.37433308, 0.8222041, 0.44920838},
            RG_SHAPE(5, 1));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_bce_with_logits(v1, v2, .reduction = RG_SUM);
        see(v3, RG_F32, RG_SHAPE(), (double[]){6.57055169293}, (double[]){1e-05});
        see(v1, RG_F32, RG_SHAPE(5, 1), (double[]){-2.63093543053, -1.78354728222, 1.96137738228, -0.52993786335,
            -1.58667886257}, (double[]){1.3e-06, 1.1e-06, 1.1e-06, 7.9e-07, 1.1e-06});
        seen(c);
    }
}

/* 175: assign; add mse_loss add sum realize */
static void p175(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x3eba, 0x3fed, 0x3fa7, 0xc020, 0x3e11, 0xc00a, 0xc010, 0x3ec3,
        0x3fe3, 0x3ff9, 0x3f70, 0xbeb4, 0x3ee5, 0x3f1f, 0xbee1}, RG_SHAPE(5, 3));
    rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0xc026}, RG_SHAPE());
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_mse_loss(v2, v2, .reduction = RG_MEAN);
        rg_tensor v4 = rg_add(v3, v3);
        rg_tensor v5 = rg_sum(v0);
        rg_realize(v0);
        see(v2, RG_BF16, RG_SHAPE(5, 3), (double[]){-2.23046875, -0.7421875, -1.2890625, -5.09375, -2.4521484375,
            -4.75, -4.84375, -2.212890625, -0.8203125, -0.6484375, -1.65625, -2.9453125, -2.146484375, -1.97265625,
            -3.033203125}, (double[]){0.16, 0.12, 0.12, 0.46, 0.26, 0.36, 0.41, 0.21, 0.11, 0.085, 0.14, 0.28, 0.15,
            0.16, 0.23});
        see(v3, RG_BF16, RG_SHAPE(), (double[]){0}, (double[]){9.8e-13});
        see(v4, RG_BF16, RG_SHAPE(), (double[]){0}, (double[]){2e-12});
        see(v5, RG_BF16, RG_SHAPE(), (double[]){2.0693359375}, (double[]){0.19});
        seen(c);
    }
}

/* 176: grad2; mul l1_loss grad grad */
static void p176(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4133, 0x410b, 0x41bb, 0x4165, 0xc1e3, 0x419c, 0x4147, 0x4052,
        0xc161, 0xc19f, 0x40ab, 0xc184, 0x4156, 0xc0ea}, RG_SHAPE(2, 1, 7));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0xbfb4}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_BF16, (uint16_t[]){0x3f8f, 0x3fa6, 0xbfaa, 0x3f45, 0xbf8d, 0x3f9b, 0xbcbd, 0x3e29,
        0xbf81, 0x3f78, 0x3fa2, 0xbe39, 0x3f68, 0x3e45}, RG_SHAPE(2, 1, 7));
    {
        rg_tensor v1 = rg_mul(v0, -1.5);
        rg_tensor v2 = rg_l1_loss(v1, v1, .reduction = RG_SUM);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        see(v6, RG_BF16, RG_SHAPE(2, 1, 7), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 177: forward; huber_loss */
static void p177(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.0}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_huber_loss(v0, v0, .reduction = RG_MEAN, .delta = 0.5);
        see(v1, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){7.2e-13});
        seen(c);
    }
}

/* 178: forward; permute smooth_l1_loss */
static void p178(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xc100, 0xbf00, 0x3400, 0xbe00, 0x3400, 0xb400}, RG_SHAPE(6));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_smooth_l1_loss(v1, v1, .reduction = RG_SUM);
        see(v2, RG_F16, RG_SHAPE(), (double[]){0}, (double[]){6.3e-08});
        seen(c);
    }
}

/* 179: jit; kl_div assign_slice */
static rg_tensor p179_v1, p179_v2, p179_v4, p179_v5;
static rg_status p179_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p179_v1;
    rg_tensor v2 = p179_v2;
    rg_tensor v4 = p179_v4;
    rg_tensor v5 = p179_v5;
    rg_tensor v0 = in[0];
    rg_tensor v3 = rg_kl_div(v1, v2, .reduction = RG_MEAN);
    rg_assign_slice(v2, v5, RG_SLICES((rg_range){.start = 1, .stop = 1, .step = 1}, (rg_range){.start = 1, .stop =
        RG_END, .step = 1}, (rg_range){.start = 0, .stop = 3, .step = 0, .at = v4}));
    rg_tensor v6 = v2;
    out[0] = v3;
    return 0;
}
static void p179(rg_ctx *c) {
    p179_v1 = rg_from(c, RG_F32, (float[]){-7.1455383, -4.1519074, -6.6816077}, RG_SHAPE(1, 1, 3));
    p179_v2 = rg_from(c, RG_F32, (float[]){0.43342966, 0.07281576, 0.92729896}, RG_SHAPE(1, 1, 3));
    p179_v4 = rg_index(c, 0, 0, 0);
    p179_v5 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(1, 0, 3));
    rg_jit *jit = rg_jit_new(c, p179_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){2, 12, 0, 4, -8, 10, 0}, RG_SHAPE(7));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.99071528596}, (double[]){6.1e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){-4, -4, -5, -7, -6, 7, 10}, RG_SHAPE(7));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.99071528596}, (double[]){4.6e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){7, -3, 5, 0, -3, 1, 10}, RG_SHAPE(7));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.99071528596}, (double[]){9.1e-06});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 180: forward; rand mul */
static void p180(rg_ctx *c) {
    rg_tensor v1 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_from(c, RG_F16, (uint16_t[]){0xc8c1}, RG_SHAPE());
    {
        rg_seed(c, 1070372337628);
        rg_tensor v0 = rg_rand(c, RG_F32, RG_SHAPE(1, 6, 9, 0));
        rg_tensor v3 = rg_mul(v1, v2);
        see(v0, RG_F32, RG_SHAPE(1, 6, 9, 0), (double[]){0}, (double[]){0});
        see(v3, RG_F16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 181: forward; randn permute */
static void p181(rg_ctx *c) {
    {
        rg_seed(c, 974195600398);
        rg_tensor v0 = rg_randn(c, RG_F16, RG_SHAPE(1, 7));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        see(v1, RG_F16, RG_SHAPE(1, 7), (double[]){-0.154541434952, -0.582184763539, 1.09503054912, -1.25515644191,
            -1.09034422654, 0.222326631874, 0.939575952509}, (double[]){0.0038, 0.007, 0.008, 0.015, 0.012, 0.0034,
            0.01});
        seen(c);
    }
}

/* 182: forward; uniform */
static void p182(rg_ctx *c) {
    {
        rg_seed(c, 454351442381);
        rg_tensor v0 = rg_uniform(c, RG_F64, -1.5, 2.0, RG_SHAPE());
        see(v0, RG_F64, RG_SHAPE(), (double[]){1.9952939458399879}, (double[]){2.3e-14});
        seen(c);
    }
}

/* 183: assign; sum sum normal assign_slice permute */
static void p183(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U32, (uint32_t[]){5, 1, 7, 9, 12, 6, 3, 0, 11}, RG_SHAPE(3, 3, 1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, -2, 2), .keep = true);
        rg_tensor v2 = rg_sum(v0, .axes = RG_SHAPE(1));
        rg_seed(c, 159684815811);
        rg_tensor v3 = rg_normal(c, RG_F64, 0.5, 2.0, RG_SHAPE(4, 0, 2));
        rg_assign_slice(v2, v2, RG_SLICES());
        rg_tensor v4 = v2;
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(0, 1));
        see(v1, RG_I64, RG_SHAPE(1, 1, 1), (double[]){54}, NULL);
        see(v3, RG_F64, RG_SHAPE(4, 0, 2), (double[]){0}, (double[]){0});
        see(v5, RG_I64, RG_SHAPE(3, 1), (double[]){13, 27, 14}, NULL);
        see(v4, RG_I64, RG_SHAPE(3, 1), (double[]){13, 27, 14}, NULL);
        seen(c);
    }
}

/* 184: jit; randperm sum */
static rg_status p184_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_randperm(c, RG_U8, 6);
    rg_tensor v2 = rg_sum(v1);
    out[0] = v2;
    return 0;
}
static void p184(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p184_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.75, -0.25, -0.25, 1.25, -1.75, 1.5, 2.75, -0.25, 2.0, -2.75,
            0.25, 2.0}, RG_SHAPE(1, 6, 2, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(), (double[]){15}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.75, 0.75, 2.0, 1.25, -2.25, 2.5, -0.25, -2.5, -1.0, 3.0, -1.75,
            -2.25}, RG_SHAPE(1, 6, 2, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(), (double[]){15}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.1375175, 1.1238416, 2.6622434, 0.49170566, 0.5482911, 1.9989313,
            -2.3205388, 0.5881368, -2.4653895, 0.31868005, -1.3278867, -0.072534464}, RG_SHAPE(1, 6, 2, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(), (double[]){15}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.75, 2.5, -1.0, 2.5, -1.75, -0.0, 2.0, 2.25, 3.0, -0.5, 2.0,
            1.5}, RG_SHAPE(1, 6, 2, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(), (double[]){15}, NULL);
        seen(c);
    }
    rg_jit_free(jit);
}

/* 185: forward; permute rand_like */
static void p185(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_seed(c, 671456276768);
        rg_tensor v2 = rg_rand_like(v0);
        see(v1, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v2, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 186: forward; randn_like realize mul add */
static void p186(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.0533919473956113, 1.311138772143452, 2.9226926477720525,
        -2.997402203254829, 1.380378454965137, -2.1888858209377884, -0.1915839746822634, 0.953927387538843,
        -0.44521484141560563, -2.385155353798697, -2.292691066671906, 1.8312785110833776, 2.817426044974166,
        -1.09431049045334, -1.5795807828404462}, RG_SHAPE(3, 1, 5));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.25, 2.25, 2.0, -1.0, -1.75, -2.75, 2.75, 2.75}, RG_SHAPE(2, 1, 2,
        2));
    {
        rg_seed(c, 595930452606);
        rg_tensor v1 = rg_randn_like(v0);
        rg_realize(v0);
        rg_tensor v2 = rg_mul(-1.5, v1);
        rg_tensor v4 = rg_add(v3, v3);
        see(v2, RG_F64, RG_SHAPE(3, 1, 5), (double[]){0.51606307651671979, -0.82311732134734239, -1.8678535120537791,
            2.7073225602844406, -1.3295099214845487, 3.7420655252020665, 2.5809354654403394, -0.71267295112084939,
            0.5521095340663017, 0.49542446330065026, 2.6865233053356041, 0.76257766586413256, 1.7999639051082901,
            3.5810544551967038, -0.92604265528827057}, (double[]){2.3e-14, 2.4e-14, 2.1e-14, 3.7e-14, 2.6e-14, 1e-13,
            2.8e-14, 4.4e-14, 1.6e-14, 2e-14, 3.9e-14, 2.6e-14, 1.5e-14, 5.1e-14, 2.8e-14});
        see(v4, RG_F32, RG_SHAPE(2, 1, 2, 2), (double[]){-2.5, 4.5, 4, -2, -3.5, -5.5, 5.5, 5.5}, (double[]){5.6e-06,
            1e-05, 7e-06, 5e-06, 6.9e-06, 1e-05, 6.4e-06, 6.4e-06});
        seen(c);
    }
}

/* 187: loop; max_pool3d realize_all mul sum glorot_uniform */
static void p187(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.5, -2.5, -1.75, 2.75, 1.5, -1.25, 1.75, -0.25, -1.5, 1.25, 2.75,
        -2.25, 1.75, 3.0, 1.25, -1.5, -2.0, 1.5, 1.75, -1.75, -1.0, 0.75, 2.25, -0.75, 2.25, -2.0, -1.75, -1.5, 2.75,
        -1.25, -3.0, 2.0, -3.0, 0.75, 3.0, -2.75}, RG_SHAPE(2, 1, 3, 3, 2));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-24.91285805728408}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_max_pool3d(v0, .size = RG_SHAPE(1, 3, 1), .stride = RG_SHAPE(1, 1, 2), .ceil = true);
        rg_realize_all(RG_TENSORS(v1, v0, v0));
        rg_tensor v3 = rg_mul(v0, v2);
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(-5, -4, 3, -1), .keep = true);
        rg_seed(c, 145533108251);
        rg_tensor v5 = rg_glorot_uniform(c, RG_BF16, RG_SHAPE(2, 1));
        see(v4, RG_F64, RG_SHAPE(1, 1, 3, 1, 1), (double[]){62.282145143210201, -6.2282145143210457,
            -24.912858057284055}, (double[]){2.2e-12, 2.3e-12, 2.6e-12});
        see(v5, RG_BF16, RG_SHAPE(2, 1), (double[]){0.0110473632812, -0.1767578125}, (double[]){0.0025, 0.011});
        see(v1, RG_F64, RG_SHAPE(2, 1, 3, 1, 1), (double[]){1.5, 2.75, 1.75, 2.25, 2.75, 3}, (double[]){1.6e-14,
            3.9e-14, 1.7e-14, 1.7e-14, 2.4e-14, 2.5e-14});
        seen(c);
    }
    {
        rg_tensor v1 = rg_max_pool3d(v0, .size = RG_SHAPE(1, 3, 1), .stride = RG_SHAPE(1, 1, 2), .ceil = true);
        rg_realize_all(RG_TENSORS(v1, v0, v0));
        rg_tensor v3 = rg_mul(v0, v2);
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(-5, -4, 3, -1), .keep = true);
        rg_seed(c, 145533108251);
        rg_tensor v5 = rg_glorot_uniform(c, RG_BF16, RG_SHAPE(2, 1));
        see(v4, RG_F64, RG_SHAPE(1, 1, 3, 1, 1), (double[]){62.282145143210201, -6.2282145143210457,
            -24.912858057284055}, (double[]){1.3e-12, 2.3e-12, 2.7e-12});
        see(v5, RG_BF16, RG_SHAPE(2, 1), (double[]){0.0110473632812, -0.1767578125}, (double[]){0.0034, 0.015});
        see(v1, RG_F64, RG_SHAPE(2, 1, 3, 1, 1), (double[]){1.5, 2.75, 1.75, 2.25, 2.75, 3}, (double[]){2.2e-14,
            3.4e-14, 2.6e-14, 2.6e-14, 3.4e-14, 3.4e-14});
        seen(c);
    }
}

/* 188: forward; permute permute add randint */
static void p188(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0));
    rg_tensor v3 = rg_scalar(c, RG_F32, 7.641278266906738);
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v4 = rg_add(v3, v2);
        rg_seed(c, 986208573963);
        rg_tensor v5 = rg_randint(c, RG_I8, 2, 59, RG_SHAPE(4, 4, 1, 1));
        see(v4, RG_F64, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v5, RG_I8, RG_SHAPE(4, 4, 1, 1), (double[]){32, 14, 35, 49, 7, 28, 3, 46, 56, 55, 2, 13, 13, 7, 48, 20},
            NULL);
        seen(c);
    }
}

/* 189: assign; add sum dropout sum */
static void p189(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbf40, 0xbf40, 0x3f40, 0x4020, 0xc000, 0xbfa0, 0x3f80, 0xc000,
        0x4000, 0xbfe0, 0xc040, 0xbe80, 0xbfe0, 0xc020}, RG_SHAPE(2, 7));
    {
        rg_tensor v1 = rg_add(v0, 2.0);
        rg_tensor v2 = rg_sum(v0);
        rg_seed(c, 702153163835);
        rg_tensor v3 = rg_dropout(v2, 0.25);
        rg_tensor v4 = rg_sum(v3);
        see(v1, RG_BF16, RG_SHAPE(2, 7), (double[]){1.25, 1.25, 2.75, 4.5, 0, 0.75, 3, 0, 4, 0.25, -1, 1.75, 0.25,
            -0.5}, (double[]){0.13, 0.13, 0.16, 0.39, 0.039, 0.098, 0.28, 0.039, 0.33, 0.056, 0.1, 0.11, 0.052,
            0.076});
        see(v4, RG_BF16, RG_SHAPE(), (double[]){-13}, (double[]){2.2});
        see(v2, RG_BF16, RG_SHAPE(), (double[]){-9.75}, (double[]){0.6});
        seen(c);
    }
}

/* 190: forward; permute bernoulli sum */
static void p190(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.1364064, 1.8909707}, RG_SHAPE(2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0.06668334}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_seed(c, 402884184446);
        rg_tensor v3 = rg_bernoulli(v2);
        rg_tensor v4 = rg_sum(v3);
        see(v1, RG_F32, RG_SHAPE(2), (double[]){-1.13640642166, 1.89097070694}, (double[]){7.6e-07, 9.5e-07});
        see(v4, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
}

/* 191: assign; permute add kaiming_normal add mul */
static void p191(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_scalar(c, RG_BF16, 5.09375);
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        rg_tensor v3 = rg_add(v1, v2);
        rg_seed(c, 980360040521);
        rg_tensor v4 = rg_kaiming_normal(c, RG_F16, 0.5, RG_SHAPE(1, 2, 4, 2));
        rg_tensor v5 = rg_add(v1, v3);
        rg_tensor v6 = rg_mul(v4, 0.25);
        see(v5, RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v6, RG_F16, RG_SHAPE(1, 2, 4, 2), (double[]){-0.0123351819678, -0.0882152676389, -0.0848421164344,
            -0.0882888589255, 0.0809376124022, 0.00418534570906, 0.064446810421, -0.0115183875437, -0.0540622288365,
            -0.0622393217176, -0.0355795586619, -0.0407103454405, -0.080350548749, 0.0683148595155, -0.0584059190394,
            0.0419822516511}, (double[]){0.0004, 0.0012, 0.0013, 0.00093, 0.0014, 0.0003, 0.0012, 0.00042, 0.00083,
            0.00089, 0.0007, 0.00057, 0.0012, 0.00071, 0.0011, 0.0007});
        seen(c);
    }
}

/* 192: grad2; add add no_grad grad grad */
static void p192(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.6134299, -0.8681154, -0.7363857, -2.3740923, 1.8153993},
        RG_SHAPE(1, 5));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){0.14709441, -0.40332308, 2.812595, -2.393929, 0.35183993}, RG_SHAPE(1,
        5));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-0.93677616, 0.26891786, -1.9420606, -1.852407, 1.8899859},
        RG_SHAPE(1, 5));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-1.9259377, 0.8287338, -0.77985895, 0.09567068, 0.9110163},
        RG_SHAPE(1, 5));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_add(v2, v2);
        rg_scope s4 = rg_begin_no_grad(c);
        rg_tensor v4 = rg_add(v3, v3);
        rg_end_no_grad(s4);
        rg_tensor o6[1];
        rg_grad(v3, RG_TENSORS(v1), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        rg_tensor o8[1];
        rg_grad(v6, RG_TENSORS(v1), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0];
        see(v8, RG_F32, RG_SHAPE(1, 5), (double[]){0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07});
        see(v3, RG_F32, RG_SHAPE(1, 5), (double[]){-0.932670980692, -2.54287701845, 4.15241837502, -9.53604269028,
            4.3344784379}, (double[]){7.7e-06, 9e-06, 1.6e-05, 2.6e-05, 1.3e-05});
        seen(c);
    }
}

/* 193: forward; kaiming_uniform permute */
static void p193(rg_ctx *c) {
    {
        rg_seed(c, 207540498838);
        rg_tensor v0 = rg_kaiming_uniform(c, RG_F64, 0.5, RG_SHAPE(3, 4));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        see(v1, RG_F64, RG_SHAPE(3, 4), (double[]){-0.43116798285566482, 0.75953933803967844, 0.64686479875189673,
            0.94858535322223902, 1.0211238287217088, -0.40981687141638046, 0.24996504197026082, -0.43922634570968999,
            0.019661301160846634, -0.17016116921054392, 0.62617366673747799, -0.99061250216684105},
            (double[]){4.8e-15, 8.9e-15, 6.9e-15, 7.4e-15, 4.4e-15, 4.7e-15, 3.6e-15, 5.6e-15, 2.1e-15, 2.5e-15,
            8.2e-15, 6.1e-15});
        seen(c);
    }
}

/* 194: forward; permute add nn_linear */
static void p194(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.5208017, 1.4185822, 2.974895, 0.9618214, 1.4636087, 1.1972663,
        -0.6167908}, RG_SHAPE(1, 7, 1));
    rg_tensor v2 = rg_scalar(c, RG_F32, 1.4383214712142944);
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){2.8420408, -4.0327296}, RG_SHAPE(2, 1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, -2, 2));
        rg_tensor v3 = rg_add(v2, v0);
        rg_module *m5 = rg_nn_linear(c, 1, 2, .no_bias = true);
        rg_assign(rg_nn_get(m5, "weight"), v4);
        rg_tensor v5 = rg_nn_forward(m5, v1);
        see(v3, RG_F32, RG_SHAPE(1, 7, 1), (double[]){0.917519748211, 2.85690367222, 4.41321647167, 2.40014284849,
            2.90193021297, 2.63558781147, 0.82153069973}, (double[]){3.2e-06, 4.4e-06, 7.8e-06, 5.6e-06, 5.4e-06,
            5.4e-06, 3.2e-06});
        see(v5, RG_F32, RG_SHAPE(1, 7, 2), (double[]){-1.48013973361, 2.10025253747, 4.03166846107, -5.72075846848,
            8.45477289921, -11.9969472017, 2.73353557461, -3.87876556278, 4.15963572596, -5.90233833333,
            3.40267976018, -4.82825144021, -1.75294452356, 2.48735041702}, (double[]){7.5e-06, 7.2e-06, 9.2e-06,
            1.3e-05, 1.9e-05, 1.6e-05, 8e-06, 1e-05, 8.9e-06, 1.4e-05, 7.3e-06, 1.1e-05, 6.2e-06, 8.9e-06});
        seen(c);
    }
}

/* 195: forward; nn_conv1d multinomial permute mul */
static void p195(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.5807607, 8.73548, -0.71107656, -2.748028, 8.243669, 5.6431403},
        RG_SHAPE(1, 2, 3));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){5.9331307, 2.8331869, -8.079604, -6.189217, -2.535013, -3.3558319,
        -2.0630636, 6.560581, -3.690913, -2.1223295, 0.6499799, -8.13047, 5.845422, -5.5079517, 6.349608, -0.07799473,
        -8.3174925, -5.8652835}, RG_SHAPE(3, 2, 3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){2.269424}, RG_SHAPE(1));
    {
        rg_module *m2 = rg_nn_conv1d(c, 2, 3, RG_SHAPE(3), .dilation = RG_SHAPE(1), .no_bias = true);
        rg_assign(rg_nn_get(m2, "weight"), v1);
        rg_tensor v2 = rg_nn_forward(m2, v0);
        rg_seed(c, 975747763270);
        rg_tensor v4 = rg_multinomial(v3, 1, true);
        rg_tensor v5 = rg_permute(v0, RG_SHAPE(0, 1, 2));
        rg_tensor v6 = rg_mul(v2, v3);
        see(v4, RG_I64, RG_SHAPE(1), (double[]){0}, NULL);
        see(v5, RG_F32, RG_SHAPE(1, 2, 3), (double[]){2.58076071739, 8.73548030853, -0.711076557636, -2.74802803993,
            8.24366855621, 5.64314031601}, (double[]){2.8e-06, 4.4e-06, 2.4e-06, 2.9e-06, 4.3e-06, 3.6e-06});
        see(v6, RG_F32, RG_SHAPE(1, 3, 1), (double[]){52.1499132226, 45.2049535447, -315.438501058},
            (double[]){0.00033, 0.00037, 0.00077});
        seen(c);
    }
}

/* 196: forward; nn_conv2d */
static void p196(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){6.054822, 8.247449, -5.369332, -3.268446, 6.8767204, 1.4669597,
        5.973419, -2.7571208, 3.9015746, -4.1267548, 7.1957297, -7.1041865, 0.030985102, 2.344137, 2.7977512,
        5.553326, 6.122219, 6.470286, -3.7537177, 4.9526944, -8.911081, -5.876693, 6.657581, -3.8287988, 1.5267268,
        -0.27627474, -6.716872, 5.3639965, -8.175211, -3.3364432, -0.357708, 2.804077, -4.105024, -6.6771665,
        7.702111, 7.612377, -2.0706537, -7.7784038, 7.778616, 4.088944}, RG_SHAPE(2, 1, 5, 4));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){7.74137, -7.3732996, 6.8234773, 1.905621, -6.4438396, 0.066238634,
        -5.2009606, 7.0420885, -1.6786805, -0.46983585, 3.9402726, -4.058189}, RG_SHAPE(3, 1, 2, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.7120671, 2.5740016, -0.11478238}, RG_SHAPE(3));
    {
        rg_module *m3 = rg_nn_conv2d(c, 1, 3, RG_SHAPE(2, 2), .stride = RG_SHAPE(3, 3));
        rg_assign(rg_nn_get(m3, "weight"), v1);
        rg_assign(rg_nn_get(m3, "bias"), v2);
        rg_tensor v3 = rg_nn_forward(m3, v0);
        see(v3, RG_F32, RG_SHAPE(2, 3, 2, 1), (double[]){33.0682542469, 34.3485117312, -61.331092066, 16.2525164153,
            6.98911188104, -3.40258659693, -18.4743190763, -14.2095759726, 49.7203182688, -15.4229891893,
            24.742052323, 33.3207054827}, (double[]){8.2e-05, 7.7e-05, 0.00012, 9.5e-05, 4.8e-05, 4.8e-05, 6.8e-05,
            6.7e-05, 7.9e-05, 7.4e-05, 5.4e-05, 7.3e-05});
        seen(c);
    }
}

/* 197: forward; nn_batchnorm sum sum sum */
static void p197(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.75, 2.25, 1.25}, RG_SHAPE(1, 1, 3));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.2241106}, RG_SHAPE(1));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){1.161945914147985, 2.764926209017867}, RG_SHAPE(2, 1));
    {
        rg_module *m2 = rg_nn_batchnorm(c, 1, .momentum = 0.25, .eps = 0.125);
        rg_assign(rg_nn_get(m2, "weight"), v1);
        rg_assign(rg_nn_get(m2, "bias"), v1);
        rg_assign(rg_nn_get(m2, "running_mean"), v1);
        rg_assign(rg_nn_get(m2, "running_var"), v1);
        rg_tensor v2 = rg_nn_forward(m2, v0);
        rg_tensor v3 = rg_contiguous(rg_nn_get(m2, "running_mean"));
        rg_tensor v4 = rg_contiguous(rg_nn_get(m2, "running_var"));
        rg_tensor v6 = rg_sum(v5, .keep = true);
        rg_tensor v7 = rg_sum(v6, .axes = RG_SHAPE(0, 1));
        rg_tensor v8 = rg_sum(v4, .keep = true);
        see(v2, RG_F32, RG_SHAPE(1, 1, 3), (double[]){-0.421146696622, 2.39929438901, 1.69418411761},
            (double[]){1.9e-06, 4e-06, 3.5e-06});
        see(v3, RG_F32, RG_SHAPE(1), (double[]){1.06391628583}, (double[]){1.8e-06});
        see(v4, RG_F32, RG_SHAPE(1), (double[]){2.00141628583}, (double[]){4.5e-06});
        see(v7, RG_F64, RG_SHAPE(), (double[]){3.9268721231658521}, (double[]){5.4e-14});
        see(v8, RG_F32, RG_SHAPE(1), (double[]){2.00141628583}, (double[]){7.5e-06});
        seen(c);
    }
}

/* 198: forward; add sum add add nn_layernorm */
static void p198(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.7665045, -2.3785596, -1.8976982, -1.5267677, -1.6232486,
        -2.6502094, -1.7192326}, RG_SHAPE(7));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){-2.3746738199447215, -1.1572972649262416, -1.5467839558749497,
        -2.1668509158228195, -1.7471643632649325, -1.6999011824159045, 2.3964661507585756}, RG_SHAPE(7));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0.08214665, 2.5421443, 1.0287465}, RG_SHAPE(3));
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-1));
        rg_tensor v4 = rg_add(v2, v2);
        rg_tensor v6 = rg_add(v5, v5);
        rg_module *m7 = rg_nn_layernorm(c, RG_SHAPE(3), .eps = 0.125);
        rg_assign(rg_nn_get(m7, "weight"), v6);
        rg_assign(rg_nn_get(m7, "bias"), v5);
        rg_tensor v7 = rg_nn_forward(m7, v6);
        see(v2, RG_F64, RG_SHAPE(7), (double[]){-5.1411783460830272, -3.535856854312228, -3.4444821198611555,
            -3.6936186465357101, -3.3704129403828524, -4.3501106092957871, 0.67723359155447405}, (double[]){6.7e-06,
            6.4e-06, 5e-06, 7.3e-06, 4.3e-06, 6.2e-06, 2.5e-06});
        see(v3, RG_F64, RG_SHAPE(), (double[]){-22.85842592491629}, (double[]){2.9e-05});
        see(v4, RG_F64, RG_SHAPE(7), (double[]){-10.282356692166054, -7.0717137086244559, -6.888964239722311,
            -7.3872372930714203, -6.7408258807657049, -8.7002212185915742, 1.3544671831089481}, (double[]){1.8e-05,
            1.1e-05, 1.4e-05, 8.7e-06, 1.1e-05, 1.2e-05, 5.4e-06});
        see(v7, RG_F32, RG_SHAPE(3), (double[]){-0.0992540780709, 9.08986779765, 0.650769811318}, (double[]){3.9e-06,
            1.3e-05, 4.7e-06});
        seen(c);
    }
}

/* 199: forward; add add nn_groupnorm */
static void p199(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(3, 0));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){1.5015294218866302, -0.8774646693441834, 2.0779007691845433,
        -1.5579869362209544, 0.7108496650002829, -1.1746641397374085}, RG_SHAPE(2, 3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-2.751173, -2.3782802, 2.3557224, 2.18787, 0.77060586, 2.46037},
        RG_SHAPE(2, 3));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-2.9387696, 0.83015454, -0.35174292, 0.26305267, -0.3622472, 2.199526,
        1.4095789, -0.6394982, 1.0566919, -1.2685543, 0.1446576, -2.1866095}, RG_SHAPE(2, 3, 2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){1.25, 2.5, -1.0}, RG_SHAPE(3));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v4 = rg_add(v2, v3);
        rg_module *m7 = rg_nn_groupnorm(c, 1, 3, .eps = 0.125);
        rg_assign(rg_nn_get(m7, "weight"), v6);
        rg_assign(rg_nn_get(m7, "bias"), v6);
        rg_tensor v7 = rg_nn_forward(m7, v5);
        see(v1, RG_F64, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        see(v4, RG_F64, RG_SHAPE(2, 3), (double[]){-1.2496435975225495, -3.2557448321554627, 4.4336231965527073,
            0.62988308941381121, 1.4814555271409384, 1.2857059240443298}, (double[]){2.8e-06, 4.7e-06, 4.6e-06,
            2.5e-06, 2.5e-06, 3.1e-06});
        see(v7, RG_F32, RG_SHAPE(2, 3, 2), (double[]){-1.00965400547, 1.94872014372, 2.04200632898, 3.00715995903,
            -0.810206362223, -2.41887421198, 2.83018490565, 0.875942939143, 4.98726028874, 0.552001361921,
            -1.29904520958, 0.479652145685}, (double[]){4.2e-06, 4.5e-06, 3.4e-06, 4.9e-06, 2.8e-06, 4.5e-06, 4.7e-06,
            3.7e-06, 9.2e-06, 3.8e-06, 4.5e-06, 3.2e-06});
        seen(c);
    }
}

/* 200: forward; nn_instancenorm sum mul sum permute */
static void p200(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.0, -2.25, 2.25, 0.75, 2.5, -0.25, 1.25, 2.75, -1.0, -1.75, 0.5,
        1.0}, RG_SHAPE(2, 3, 1, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.58668, 2.7747383, -0.7359795}, RG_SHAPE(3));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0.75, 1.5, 2.5}, RG_SHAPE(3));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){23.084389383765647, 4.187586274901371, 25.710212386145542},
        RG_SHAPE(3, 1));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 3, 0, 6));
    {
        rg_module *m3 = rg_nn_instancenorm(c, 3, .eps = 0.125);
        rg_assign(rg_nn_get(m3, "weight"), v1);
        rg_assign(rg_nn_get(m3, "bias"), v2);
        rg_tensor v3 = rg_nn_forward(m3, v0);
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(-1), .keep = true);
        rg_tensor v6 = rg_mul(v5, v2);
        rg_tensor v7 = rg_sum(v6, .keep = true);
        rg_tensor v9 = rg_permute(v8, RG_SHAPE(2, 1, 0, 3));
        see(v4, RG_F32, RG_SHAPE(2, 3, 1, 1), (double[]){1.5, 3, 5, 1.5, 3, 5}, (double[]){7.8e-06, 8.7e-06, 1.3e-05,
            6.8e-06, 1.1e-05, 1.3e-05});
        see(v7, RG_F64, RG_SHAPE(1, 1), (double[]){251.66539321285967}, (double[]){0.0004});
        see(v9, RG_F32, RG_SHAPE(0, 3, 2, 6), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 201: forward; realize permute nn_rmsnorm */
static void p201(rg_ctx *c) {
    rg_tensor v0 = rg_scalar(c, RG_F32, 2.5109708309173584);
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.8796437, -1.6743186, 1.3368242}, RG_SHAPE(3));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0.75, -0.0, -1.75}, RG_SHAPE(3));
    {
        rg_realize(v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_module *m4 = rg_nn_rmsnorm(c, 3, .eps = 0.125);
        rg_assign(rg_nn_get(m4, "weight"), v3);
        rg_tensor v4 = rg_nn_forward(m4, v1);
        see(v2, RG_F32, RG_SHAPE(3), (double[]){-1.87964367867, -1.67431855202, 1.3368241787}, (double[]){9.4e-07,
            8.9e-07, 8.1e-07});
        see(v4, RG_F32, RG_SHAPE(3), (double[]){-0.837579872406, 0, -1.38995833166}, (double[]){2e-06, 6.6e-07,
            1.8e-06});
        seen(c);
    }
}

/* 202: forward; nn_embedding mul sum */
static void p202(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){0, 0, 0, 0}, RG_SHAPE(2, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-2.3680685, 1.7075913}, RG_SHAPE(1, 2));
    {
        rg_module *m2 = rg_nn_embedding(c, 1, 2);
        rg_assign(rg_nn_get(m2, "weight"), v1);
        rg_tensor v2 = rg_nn_forward(m2, v0);
        rg_tensor v3 = rg_mul(v2, 0.5);
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(0, 1));
        see(v2, RG_F32, RG_SHAPE(2, 2, 2), (double[]){-2.36806845665, 1.70759129524, -2.36806845665, 1.70759129524,
            -2.36806845665, 1.70759129524, -2.36806845665, 1.70759129524}, (double[]){5e-06, 2.8e-06, 4e-06, 2.8e-06,
            4e-06, 2.3e-06, 4e-06, 2.8e-06});
        see(v4, RG_F32, RG_SHAPE(2), (double[]){-4.7361369133, 3.41518259048}, (double[]){1.1e-05, 9.8e-06});
        seen(c);
    }
}

/* 203: assign; mul assign sum nn_attention */
static void p203(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xc05e, 0x41cd, 0x4147, 0x4136, 0x40ca, 0xc1da}, RG_SHAPE(3, 2));
    rg_tensor v2 = rg_from(c, RG_F16, (uint16_t[]){0x3344, 0x38e0, 0x3fc2, 0x3cb1, 0xc198, 0xb8b1}, RG_SHAPE(3, 2));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-0.8138145230023266, -0.0439561539287423}, RG_SHAPE(2, 1));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){1.8054854, -0.5787067, -2.4704704, 1.8826782, -2.9699743, -0.13212574,
        -1.7748032, -0.93657434}, RG_SHAPE(2, 4, 1));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-0.26909202, 1.3422736, -1.95241}, RG_SHAPE(3, 1));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){-1.779065, -1.109084, 2.8174732}, RG_SHAPE(3));
    rg_tensor v9 = rg_from(c, RG_F32, (float[]){1.8309486}, RG_SHAPE(1, 1));
    rg_tensor v10 = rg_from(c, RG_F32, (float[]){-0.22114639}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_mul(v0, -1.5);
        rg_assign(v1, v2);
        rg_tensor v3 = v1;
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(0, -1), .keep = true);
        rg_module *m11 = rg_nn_attention(c, 1, 1);
        rg_assign(rg_nn_get(m11, "in_proj_weight"), v7);
        rg_assign(rg_nn_get(m11, "in_proj_bias"), v8);
        rg_assign(rg_nn_get(m11, "out_proj.weight"), v9);
        rg_assign(rg_nn_get(m11, "out_proj.bias"), v10);
        rg_tensor v11 = rg_nn_forward(m11, v6);
        see(v3, RG_BF16, RG_SHAPE(3, 2), (double[]){0.2265625, 0.609375, 1.9375, 1.171875, -2.796875, -0.5859375},
            (double[]){0.0037, 0.01, 0.032, 0.019, 0.046, 0.0096});
        see(v5, RG_F64, RG_SHAPE(1, 1), (double[]){-0.8577706769310689}, (double[]){1.2e-14});
        see(v11, RG_F32, RG_SHAPE(2, 4, 1), (double[]){13.7473545875, 13.6584725644, 13.3471230452, 13.7484593423,
            14.300272102, 15.2405344898, 14.8566413104, 15.0914277116}, (double[]){3.1e-05, 2.5e-05, 2.3e-05, 2.1e-05,
            2.8e-05, 3.3e-05, 4.5e-05, 4e-05});
        seen(c);
    }
}

/* 204: forward; add permute permute nn_max_pool2d */
static void p204(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.5, 0.0, 1.25, -0.75}, RG_SHAPE(4));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){2.2668378, -0.26120406, -0.45287684}, RG_SHAPE(3));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){2.7566156, -2.3869429, 2.6141355}, RG_SHAPE(1, 1, 3, 1));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(0));
        rg_module *m6 = rg_nn_max_pool2d(c, .size = RG_SHAPE(2, 1));
        rg_tensor v6 = rg_nn_forward(m6, v5);
        see(v2, RG_F32, RG_SHAPE(4), (double[]){3, 0, 2.5, -1.5}, (double[]){4.1e-06, 1.3e-06, 2.9e-06, 3.2e-06});
        see(v4, RG_F32, RG_SHAPE(3), (double[]){2.26683783531, -0.261204063892, -0.452876836061}, (double[]){1.1e-06,
            6.3e-07, 6.8e-07});
        see(v6, RG_F32, RG_SHAPE(1, 1, 1, 1), (double[]){2.75661563873}, (double[]){5.9e-06});
        seen(c);
    }
}

/* 205: forward; mul permute nn_flatten mul */
static void p205(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){22.229027, -19.77705}, RG_SHAPE(1, 1, 2));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-9.629479}, RG_SHAPE(1, 1));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(2, 1, 0));
        rg_module *m3 = rg_nn_flatten(c, 1);
        rg_tensor v3 = rg_nn_forward(m3, v2);
        rg_tensor v5 = rg_mul(v0, v4);
        see(v3, RG_F32, RG_SHAPE(2, 1), (double[]){494.129632228, 391.131707427}, (double[]){0.00098, 0.00095});
        see(v5, RG_F32, RG_SHAPE(1, 1, 2), (double[]){-214.053955783, 190.442695908}, (double[]){0.00033, 0.00042});
        seen(c);
    }
}

/* 206: forward; mul nn_dropout permute add permute */
static void p206(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-15.60071}, RG_SHAPE());
    rg_tensor v2 = rg_scalar(c, RG_F32, 2.041816234588623);
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-1.25, -1.25, 2.0, 0.75, -3.0}, RG_SHAPE(1, 5, 1));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-2.25, -2.75, -0.5, -1.75, -1.0}, RG_SHAPE(1, 1, 5));
    {
        rg_tensor v1 = rg_mul(v0, 2.0);
        rg_module *m3 = rg_nn_dropout(c, 0.0);
        rg_tensor v3 = rg_nn_forward(m3, v2);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(0, 2, -2));
        rg_tensor v7 = rg_add(v6, v5);
        rg_tensor v8 = rg_permute(v6, RG_SHAPE(0, 2, 1));
        see(v1, RG_F32, RG_SHAPE(), (double[]){-31.2014198303}, (double[]){4e-05});
        see(v3, RG_F32, RG_SHAPE(), (double[]){2.04181623459}, (double[]){1e-06});
        see(v5, RG_F32, RG_SHAPE(1, 1, 5), (double[]){-1.25, -1.25, 2, 0.75, -3}, (double[]){1.1e-06, 1.1e-06,
            1.3e-06, 9.4e-07, 1.5e-06});
        see(v7, RG_F32, RG_SHAPE(1, 1, 5), (double[]){-3.5, -4, 1.5, -1, -4}, (double[]){6.2e-06, 8.3e-06, 4.2e-06,
            4.1e-06, 5.3e-06});
        see(v8, RG_F32, RG_SHAPE(1, 5, 1), (double[]){-2.25, -2.75, -0.5, -1.75, -1}, (double[]){1.3e-06, 1.4e-06,
            8.1e-07, 1.1e-06, 9.4e-07});
        seen(c);
    }
}

/* 207: forward; sgd add */
static void p207(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.5, -2.75, -1.25}, RG_SHAPE(3));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){7.2694526, 5.497447, 7.2887874}, RG_SHAPE(3));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0x3f5d}, RG_SHAPE());
    {
        rg_tensor p2 = rg_param(v0);
        rg_optim *s2 = rg_sgd(RG_TENSORS(p2), .lr = 0.125, .momentum = 0.5);
        for (int k = 0; k < 3; k++) {
            rg_backward(rg_mean(rg_square(rg_sub(p2, v1))));
            rg_clip_grad_value(RG_TENSORS(p2), 0.125);
            rg_optim_step(s2);
            rg_optim_set_lr(s2, rg_lr_step(0.125, k + 1, 2, 0.5));
        }
        rg_tensor v2 = rg_contiguous(p2);
        rg_tensor v4 = rg_add(v3, v3);
        see(v2, RG_F32, RG_SHAPE(3), (double[]){-1.447265625, -2.697265625, -1.197265625}, (double[]){3.2e-06, 4e-06,
            2.1e-06});
        see(v4, RG_BF16, RG_SHAPE(), (double[]){1.7265625}, (double[]){0.17});
        seen(c);
    }
}

/* 208: forward; adam mul sum add mul */
static void p208(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-1.6071299402603938}, RG_SHAPE(1, 1));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){6.073664205222263}, RG_SHAPE(1, 1));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-27.66557724629337}, RG_SHAPE(1));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-9.198712349823182}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){-2.5}, RG_SHAPE());
    rg_tensor v9 = rg_from(c, RG_F64, (double[]){7.964614516471713}, RG_SHAPE(1, 1));
    {
        rg_tensor p2 = rg_param(v0);
        rg_optim *s2 = rg_adam(RG_TENSORS(p2), .lr = 0.125);
        for (int k = 0; k < 3; k++) {
            rg_backward(rg_mean(rg_square(rg_sub(p2, v1))));
            
            rg_optim_step(s2);
            rg_optim_set_lr(s2, rg_lr_step(0.125, k + 1, 2, 0.5));
        }
        rg_tensor v2 = rg_contiguous(p2);
        rg_tensor v5 = rg_mul(v3, v4);
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(0));
        rg_tensor v8 = rg_add(v7, v6);
        rg_tensor v10 = rg_mul(v1, v9);
        see(v2, RG_F64, RG_SHAPE(1, 1), (double[]){-1.2947650843134539}, (double[]){2.8e-14});
        see(v5, RG_F64, RG_SHAPE(1), (double[]){254.48768708046606}, (double[]){3.1e-12});
        see(v8, RG_F64, RG_SHAPE(), (double[]){251.98768708046606}, (double[]){6e-12});
        see(v10, RG_F64, RG_SHAPE(1, 1), (double[]){48.374394097087865}, (double[]){4.3e-13});
        seen(c);
    }
}

/* 209: forward; sum mul adamw */
static void p209(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(1, 0));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.1169472}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){4.812086}, RG_SHAPE());
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, -1));
        rg_tensor v3 = rg_mul(v2, v1);
        rg_tensor p5 = rg_param(v2);
        rg_optim *s5 = rg_adamw(RG_TENSORS(p5), .lr = 0.125);
        for (int k = 0; k < 3; k++) {
            rg_backward(rg_mean(rg_square(rg_sub(p5, v4))));
            
            rg_optim_step(s5);
            rg_optim_set_lr(s5, rg_lr_step(0.125, k + 1, 2, 0.5));
        }
        rg_tensor v5 = rg_contiguous(p5);
        see(v3, RG_F32, RG_SHAPE(), (double[]){-0}, (double[]){1e-36});
        see(v5, RG_F32, RG_SHAPE(), (double[]){-1.79830536557}, (double[]){3.7e-06});
        seen(c);
    }
}

/* 210: assign; mul realize nn_conv_transpose2d */
static void p210(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-1.4218757, -4.803873, 5.058142, -8.1068735, -1.3982178, -5.6690364,
        1.571037, 8.913982, -0.5834684, 3.2368522, 2.4196353, -3.8585973, 0.7502053, -0.6171548, 2.0359387, 7.848263,
        -5.1034203, -3.0436118, 1.3214316, 3.22605, 1.1427743, -2.413283, -0.10377122, -3.0687175}, RG_SHAPE(1, 3, 4,
        2));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0.36450917, -8.18909, 5.414659, -6.1730433, -8.456035, 4.5247297,
        1.3162807, 3.8078635, -5.351049, -7.0884075, -8.889277, 4.5185313, 0.2043817, -2.6827297, 0.39296895,
        -6.2790365, -1.7415651, -4.5366697}, RG_SHAPE(3, 1, 3, 2));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-1.3419654}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_realize(v1);
        rg_module *m5 = rg_nn_conv_transpose2d(c, 3, 1, RG_SHAPE(3, 2), .dilation = RG_SHAPE(1, 1));
        rg_assign(rg_nn_get(m5, "weight"), v3);
        rg_assign(rg_nn_get(m5, "bias"), v4);
        rg_tensor v5 = rg_nn_forward(m5, v2);
        see(v1, RG_F32, RG_SHAPE(5, 0), (double[]){0}, (double[]){0});
        see(v5, RG_F32, RG_SHAPE(1, 1, 6, 3), (double[]){-3.67130607488, 23.6587235174, 58.488061223, -2.62552054332,
            -44.039840118, 67.5196563348, 40.4272054857, -40.8947929313, 113.042785329, -75.8288273539, 99.6311455303,
            -50.4508977289, -0.606142828199, 29.7491973936, -110.222682311, -32.5440092334, -124.361176918,
            88.3757746234}, (double[]){6.7e-05, 9.4e-05, 0.00015, 6.8e-05, 0.00015, 0.00016, 0.00011, 0.00019,
            0.00016, 0.00014, 0.00017, 0.00017, 7.5e-05, 0.00014, 0.00017, 9e-05, 0.00023, 0.00017});
        seen(c);
    }
}

/* 211: assign; nn_conv3d mul assign_slice sum assign_slice */
static void p211(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-5.2268887, 4.663651, -0.45724392, -7.467049, -4.0907736, 2.3800485,
        -8.51252, 0.53541255, -5.8948135, 0.29727384, -1.7756605, -0.62926215, -8.453092, -7.6425767, -5.128135,
        -0.6674664, 1.5283918, -0.8582377, 1.8435291, -2.63439, 0.24038427, 0.9186615, 8.400205, 8.102123, -8.564639,
        -0.78132474, 7.870767, -7.842708, 1.9776598, 5.678929, 8.121036, -6.838717}, RG_SHAPE(1, 2, 2, 2, 4));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-3.7291496, -5.1551795, 6.6525116, -7.973746, 3.4322822, -6.2198005,
        -1.7363681, -4.9725237, -3.8049512, 7.3210645, -8.281729, 4.280279, -1.8664585, -1.2795738, 5.51019,
        -1.2803307, 1.9517666, -5.473144, -8.760928, 5.830506, 7.4104705, 0.16143437, 1.124376, 6.1081367},
        RG_SHAPE(1, 2, 2, 3, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-1.4892299}, RG_SHAPE(1));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 0));
    {
        rg_module *m3 = rg_nn_conv3d(c, 2, 1, RG_SHAPE(2, 3, 2), .stride = RG_SHAPE(1, 2, 2), .padding = RG_SHAPE(2,
            1, 1, 2, 1, 2), .dilation = RG_SHAPE(2, 1, 1));
        rg_assign(rg_nn_get(m3, "weight"), v1);
        rg_assign(rg_nn_get(m3, "bias"), v2);
        rg_tensor v3 = rg_nn_forward(m3, v0);
        rg_tensor v5 = rg_mul(0.5, v4);
        rg_assign_slice(v5, -2.0, RG_SLICES());
        rg_tensor v6 = v5;
        rg_tensor v7 = rg_sum(v6, .axes = RG_SHAPE(-2));
        rg_assign_slice(v4, v7, RG_SLICES((rg_range){.start = 3, .stop = 3, .step = 1}, (rg_range){.start = -1, .stop
            = RG_END, .step = 2}));
        rg_tensor v8 = v4;
        see(v3, RG_F32, RG_SHAPE(1, 1, 3, 2, 3), (double[]){-55.5502367588, -32.4484010826, 12.0761492436,
            20.2538004961, 77.6359516076, -73.4010229483, -70.1299424268, 77.1941044156, -59.3745890961, 52.074725572,
            34.8779276886, 59.5832455847, 62.3599424924, 43.0249853013, -48.0287102709, 19.2918527883, 21.0554555956,
            -18.6081405161}, (double[]){8.2e-05, 0.00012, 5e-05, 6.6e-05, 0.00011, 0.00012, 0.00013, 0.00011, 8.2e-05,
            9.9e-05, 7.2e-05, 0.00011, 0.00013, 0.0001, 0.0001, 5.4e-05, 7.5e-05, 6.3e-05});
        see(v6, RG_F32, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        see(v8, RG_F32, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        see(v7, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

static void (*const sample[])(rg_ctx *) = {
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, p22, p23, p24,
        p25, p26, p27, p28, p29, p30, p31, p32, p33, p34, p35, p36, p37, p38, p39, p40, p41, p42, p43, p44, p45, p46,
        p47, p48, p49, p50, p51, p52, p53, p54, p55, p56, p57, p58, p59, p60, p61, p62, p63, p64, p65, p66, p67, p68,
        p69, p70, p71, p72, p73, p74, p75, p76, p77, p78, p79, p80, p81, p82, p83, p84, p85, p86, p87, p88, p89, p90,
        p91, p92, p93, p94, p95, p96, p97, p98, p99, p100, p101, p102, p103, p104, p105, p106, p107, p108, p109, p110,
        p111, p112, p113, p114, p115, p116, p117, p118, p119, p120, p121, p122, p123, p124, p125, p126, p127, p128,
        p129, p130, p131, p132, p133, p134, p135, p136, p137, p138, p139, p140, p141, p142, p143, p144, p145, p146,
        p147, p148, p149, p150, p151, p152, p153, p154, p155, p156, p157, p158, p159, p160, p161, p162, p163, p164,
        p165, p166, p167, p168, p169, p170, p171, p172, p173, p174, p175, p176, p177, p178, p179, p180, p181, p182,
        p183, p184, p185, p186, p187, p188, p189, p190, p191, p192, p193, p194, p195, p196, p197, p198, p199, p200,
        p201, p202, p203, p204, p205, p206, p207, p208, p209, p210, p211,
};
/* clang-format on */

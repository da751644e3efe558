/* outside_sample.h: written by tests/outside/run.py --sample; do not edit. 330 programs (assign 53, backward 48,
    forward 98, grad 40, grad2 40, jit 25, loop 26) with PyTorch's values.
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

/* 4: forward; permute sum sum add */
static void p4(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.5523818809477197, -1.194573890357946, 0.7750028310926789,
        -1.2149126712411178, 1.8924166955604536, -1.8501262280501751}, RG_SHAPE(6));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.2211738, 2.6720946, 2.1362097, -1.1223428, -0.19863014, 1.5076246,
        1.1859387, -2.2736487, 0.68347794, 1.0425607, -2.4255202, 0.8689065, -1.4726735, 2.5608432, -2.7084112},
        RG_SHAPE(15, 1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0));
        rg_tensor v4 = rg_sum(v3);
        rg_tensor v5 = rg_add(v2, v4);
        see(v5, RG_F64, RG_SHAPE(), (double[]){-0.9093195300207535}, (double[]){4.2e-06});
        seen(c);
    }
}

/* 5: forward; log2 sum mul mul add */
static void p5(rg_ctx *c) {
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

/* 6: grad; sum sum grad */
static void p6(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4027, 0xc017}, RG_SHAPE(1, 2));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-0.968947900649817, -0.12977613293594903}, RG_SHAPE(1, 2));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){0.7391173961040103}, RG_SHAPE(1, 1));
    {
        rg_tensor v1 = rg_sum(v0, .keep = true);
        rg_tensor v3 = rg_sum(v2, .keep = true);
        rg_tensor o5[2];
        rg_grad(v3, RG_TENSORS(v0, v2), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0], v6 = o5[1];
        see(v5, RG_BF16, RG_SHAPE(1, 2), (double[]){0, 0}, (double[]){2.5e-07, 2.5e-07});
        see(v6, RG_F64, RG_SHAPE(1, 2), (double[]){0.73911739610401028, 0.73911739610401028}, (double[]){1.2e-06,
            1.2e-06});
        seen(c);
    }
}

/* 7: backward; expm1 sum sum mul sum backward */
static void p7(rg_ctx *c) {
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

/* 8: loop; add */
static void p8(rg_ctx *c) {
    rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0x4016}, RG_SHAPE(1, 1));
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.5, 3.0, 1.0, -2.5, 2.25, 2.5, 0.25, 1.75, 1.75, -0.75},
            RG_SHAPE(2, 5));
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_F32, RG_SHAPE(2, 5), (double[]){1.84375, 5.34375, 3.34375, -0.15625, 4.59375, 4.84375, 2.59375,
            4.09375, 4.09375, 1.59375}, (double[]){4.4e-06, 8.3e-06, 7.8e-06, 4.1e-06, 1e-05, 6.2e-06, 7.6e-06, 6e-06,
            1e-05, 5.9e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.1238315, 0.6072676, 2.0101986, -0.71918327, -0.49859107,
            -2.400284, -1.0018816, -2.0914812, 1.4819809, 1.3134252}, RG_SHAPE(2, 5));
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_F32, RG_SHAPE(2, 5), (double[]){1.21991848946, 2.95101761818, 4.35394859314, 1.62456673384,
            1.84515893459, -0.0565340518951, 1.34186840057, 0.252268791199, 3.82573091984, 3.6571751833},
            (double[]){3.2e-06, 4.7e-06, 5e-06, 3.1e-06, 3.9e-06, 3e-06, 3.8e-06, 2.1e-06, 5.4e-06, 7.4e-06});
        seen(c);
    }
}

/* 9: forward; add mul */
static void p9(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 6, 0));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.699008}, RG_SHAPE());
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v3 = rg_mul(v2, 1);
        see(v3, RG_F32, RG_SHAPE(5, 6, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 10: forward; mul sum permute */
static void p10(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(2, 1, 0, 3));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.1111143}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){0.75, -0.25, 0.0}, RG_SHAPE(3));
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v3 = rg_sum(v1);
        rg_tensor v5 = rg_permute(v4, RG_SHAPE(-1));
        see(v2, RG_F32, RG_SHAPE(2, 1, 0, 3), (double[]){0}, (double[]){0});
        see(v3, RG_F32, RG_SHAPE(), (double[]){-1.11111426353}, (double[]){1.3e-06});
        see(v5, RG_F32, RG_SHAPE(3), (double[]){0.75, -0.25, 0}, (double[]){3.8e-07, 2.5e-07, 1.9e-07});
        seen(c);
    }
}

/* 11: backward; realize mul backward */
static void p11(rg_ctx *c) {
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
        see(v4, RG_F16, RG_SHAPE(), (double[]){7.44431018829}, (double[]){0.13});
        see(v5, RG_F32, RG_SHAPE(), (double[]){-8.78125}, (double[]){2.8e-05});
        see(v3, RG_F32, RG_SHAPE(), (double[]){-65.370348841}, (double[]){0.00015});
        seen(c);
    }
}

/* 12: loop; realize sum sin permute */
static void p12(rg_ctx *c) {
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

/* 13: forward; add mul sum sum log1p */
static void p13(rg_ctx *c) {
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

/* 14: forward; cos */
static void p14(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-10.033519}, RG_SHAPE());
    {
        rg_tensor v1 = rg_cos(v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){-0.820368705149}, (double[]){4.9e-06});
        seen(c);
    }
}

/* 15: grad; permute permute sum grad */
static void p15(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.7636512252778775, -2.4014818466958014, 0.33029468180177846,
        2.842647371358125, 0.33217188284783417, 2.346351700186945, -2.9831888437314804, -0.04508246082352674,
        -2.442047712789198, 1.4760160109160951}, RG_SHAPE(5, 1, 1, 2));
    rg_tensor v3 = rg_from(c, RG_F16, (uint16_t[]){0xc002}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F16, (uint16_t[]){0xbec2}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-4, 2, 3, 1));
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(2, 1, 0, 3));
        rg_tensor v4 = rg_sum(v3, .keep = true);
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v3, v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        see(v6, RG_F16, RG_SHAPE(), (double[]){-1.689453125}, (double[]){0.045});
        see(v7, RG_F64, RG_SHAPE(5, 1, 1, 2), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16});
        seen(c);
    }
}

/* 16: grad2; add sum tan sum grad grad */
static void p16(rg_ctx *c) {
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

/* 17: jit; sum */
static rg_status p17_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = in[2];
    rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(0));
    out[0] = v3;
    return 0;
}
static void p17(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p17_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.785995, -1.0091114, -1.3479525, 1.2641661}, RG_SHAPE(2, 2, 1));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){-0.9566221, -1.448625}, RG_SHAPE(1, 2));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.48174936, 0.29943794, 1.9134939, 2.9493299}, RG_SHAPE(2, 2, 1));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.5562819, -0.34124357}, RG_SHAPE(1, 2));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.3023076, -2.6764176, 1.6869302, 2.0353794}, RG_SHAPE(2, 2, 1));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.25, -0.5}, RG_SHAPE(1, 2));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 18: forward; add permute add */
static void p18(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x0000, 0xbf00, 0xc000, 0x3e00, 0x4000, 0x4180, 0xc080, 0x8000,
        0xb400, 0xc180, 0x3a00, 0x3800}, RG_SHAPE(2, 1, 6, 1));
    {
        rg_tensor v1 = rg_add(v0, 2.0);
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(1, 3, 2, -4));
        rg_tensor v3 = rg_add(v2, v2);
        see(v1, RG_F16, RG_SHAPE(2, 1, 6, 1), (double[]){2, 0.25, 0, 3.5, 4, 4.75, -0.25, 2, 1.75, -0.75, 2.75, 2.5},
            (double[]){0.016, 0.0085, 0.0064, 0.039, 0.029, 0.053, 0.0079, 0.026, 0.024, 0.012, 0.031, 0.028});
        see(v3, RG_F16, RG_SHAPE(1, 1, 6, 2), (double[]){0, -4.5, -3.5, -0, -4, -0.5, 3, -5.5, 4, 1.5, 5.5, 1},
            (double[]){0.0088, 0.034, 0.044, 0.0088, 0.043, 0.013, 0.037, 0.051, 0.049, 0.021, 0.06, 0.017});
        seen(c);
    }
}

/* 19: forward; realize_all sum add add */
static void p19(rg_ctx *c) {
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

/* 20: assign; mul assign add permute assign_slice */
static void p20(rg_ctx *c) {
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

/* 21: grad; cosh grad */
static void p21(rg_ctx *c) {
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

/* 22: grad2; permute add grad grad */
static void p22(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-1.1161583615109762, 1.2626237823188982, 1.9842909312784567,
        -1.8233582423074646, -1.9639279674882968}, RG_SHAPE(5));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){1.390083531085521}, RG_SHAPE(1));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-1.5826823773146472, -1.2510293016510077, 1.1737698865984711,
        0.8501817209320253, 0.377564776014228}, RG_SHAPE(5));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){0.43587366451550746}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v3 = rg_add(v0, v2);
        rg_tensor o5[2];
        rg_grad(v3, RG_TENSORS(v2, v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0], v6 = o5[1];
        rg_tensor o8[2];
        rg_grad(v5, RG_TENSORS(v2, v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        see(v8, RG_F64, RG_SHAPE(1), (double[]){0}, (double[]){4.7e-16});
        see(v9, RG_F64, RG_SHAPE(5), (double[]){0, 0, 0, 0, 0}, (double[]){4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16});
        seen(c);
    }
}

/* 23: backward; permute add realize sum backward */
static void p23(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-0.2798962949470365, 1.668088156671808, -2.2013468154523643,
        2.3930710235378863, 1.0141934224717817}, RG_SHAPE(5, 1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){-1.295473017144442}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1, 0));
        rg_tensor v3 = rg_add(v1, v2);
        rg_realize(v3);
        rg_tensor v4 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        rg_tensor v6 = rg_param_grad(v2);
        see(v5, RG_F64, RG_SHAPE(5, 1), (double[]){1, 1, 1, 1, 1}, (double[]){2.3e-14, 1.4e-14, 1.6e-14, 2.1e-14,
            1.2e-14});
        see(v6, RG_F64, RG_SHAPE(), (double[]){5}, (double[]){7.2e-14});
        seen(c);
    }
}

/* 24: forward; mul */
static void p24(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-24.309973, -2.5299392, 8.879519, 29.305265, 23.428709, 22.848457,
        -13.6197405, 27.793175, 7.9360533, 1.3934784, 9.678234, -7.739873, 25.487698, 15.280451, 14.771386, 4.210973,
        27.998484, -17.733728}, RG_SHAPE(6, 3));
    rg_tensor v1 = rg_from(c, RG_F16, (uint16_t[]){0x49b5, 0xc058, 0x4d61}, RG_SHAPE(3));
    {
        rg_tensor v2 = rg_mul(v0, v1);
        see(v2, RG_F32, RG_SHAPE(6, 3), (double[]){-277.475548491, 5.49471164495, 191.048410937, 334.492131159,
            -50.8842274249, 491.598839879, -155.456569143, -60.3633013964, 170.749146268, 15.9052494764,
            -21.0199146867, -166.528203562, 290.918173403, -33.1872291267, 317.815605059, 48.0643065646,
            -60.8092066944, -381.552250296}, (double[]){0.0005, 0.00021, 0.00042, 0.00069, 0.00028, 0.00081, 0.00048,
            0.00029, 0.00037, 0.00023, 0.00024, 0.00033, 0.00057, 0.00025, 0.00051, 0.00026, 0.00031, 0.0007});
        seen(c);
    }
}

/* 25: grad; add mul mul sum grad */
static void p25(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.1145537, -1.1538119, -1.5898408, 1.1253208, 1.6383184, -1.0139109,
        -2.5738783, -1.494011, 2.7013254, -0.033354107, 2.1298006, -1.1677928, 1.6299846, -2.874674, 2.0285866,
        -0.013262306, 0.09024189, -1.119387, -0.5812492, -2.7639692, 0.48018494}, RG_SHAPE(3, 7));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-6.601052, -9.48888}, RG_SHAPE(2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-1.4713237}, RG_SHAPE());
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_mul(v2, 0.25);
        rg_tensor v4 = rg_mul(v1, v1);
        rg_tensor v5 = rg_sum(v2);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v2, v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F32, RG_SHAPE(2), (double[]){-1.47132372856, -1.47132372856}, (double[]){2e-06, 4e-06});
        see(v8, RG_F32, RG_SHAPE(3, 7), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
            (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 26: grad2; add mul mul mul add grad grad */
static void p26(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.8092820541830594, 2.8208443701960295, -2.0182213017826114,
        1.7774929298264377, -0.7761732484524995}, RG_SHAPE(5));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){7.2547417}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){24.51974107470471, -16.07318809082309, -6.755576361694885},
        RG_SHAPE(3));
    rg_tensor v8 = rg_from(c, RG_F64, (double[]){1.220757326811781, 0.08070146453620541, -1.0205058587564073},
        RG_SHAPE(3));
    rg_tensor v11 = rg_from(c, RG_F64, (double[]){-1.8503484053107897, -0.04125023915354076, -1.014140811234666},
        RG_SHAPE(3));
    {
        rg_tensor v1 = rg_add(2.0, v0);
        rg_tensor v3 = rg_mul(v1, v2);
        rg_tensor v4 = rg_mul(v3, v2);
        rg_tensor v6 = rg_mul(v5, v5);
        rg_tensor v7 = rg_add(v6, v6);
        rg_tensor o9[2];
        rg_grad(v7, RG_TENSORS(v2, v5), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        rg_tensor o12[2];
        rg_grad(v10, RG_TENSORS(v2, v5), o12, .seed = v11, .unused_ok = true);
        rg_tensor v12 = o12[0], v13 = o12[1];
        see(v12, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v13, RG_F64, RG_SHAPE(3), (double[]){-9.0353054917505666, -0.013315818848637846, 4.1397465578758093},
            (double[]){1.3e-05, 2.9e-06, 1e-05});
        see(v7, RG_F64, RG_SHAPE(3), (double[]){1202.4354047411227, 516.69475080595453, 91.275623957381399},
            (double[]){1e-11, 6.9e-12, 2.9e-12});
        seen(c);
    }
}

/* 27: backward; mul backward */
static void p27(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F16, (uint16_t[]){0x4588}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_zero_grad(c);
        rg_backward(v1);
        rg_tensor v2 = rg_param_grad(v0);
        see(v2, RG_F16, RG_SHAPE(), (double[]){11.0625}, (double[]){0.49});
        seen(c);
    }
}

/* 28: forward; sinh add tanh permute mul */
static void p28(rg_ctx *c) {
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

/* 29: assign; add */
static void p29(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.8129581708307043, -0.5968101212957446}, RG_SHAPE(2));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){-0.4122483451327881}, RG_SHAPE());
    {
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_F64, RG_SHAPE(2), (double[]){2.4007098256979162, -1.0090584664285327}, (double[]){2.1e-14,
            1.4e-14});
        seen(c);
    }
}

/* 30: backward; permute permute add mul backward */
static void p30(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.80031294}, RG_SHAPE(1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){-0.41949207, 1.4968965, 0.8110997, 1.1869696}, RG_SHAPE(1,
        4)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F32, (float[]){-25.460234}, RG_SHAPE()));
    rg_tensor v6 = rg_param(rg_from(c, RG_F32, (float[]){-5.622032}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(1, 0));
        rg_tensor v4 = rg_add(v3, 0.5);
        rg_tensor v7 = rg_mul(v6, v5);
        rg_zero_grad(c);
        rg_backward(v7);
        rg_tensor v8 = rg_param_grad(v5);
        rg_tensor v9 = rg_param_grad(v6);
        see(v8, RG_F32, RG_SHAPE(), (double[]){-5.62203216553}, (double[]){1.2e-05});
        see(v9, RG_F32, RG_SHAPE(), (double[]){-25.4602336884}, (double[]){7.3e-05});
        see(v7, RG_F32, RG_SHAPE(), (double[]){143.138252738}, (double[]){0.00031});
        seen(c);
    }
}

/* 31: forward; mul sum */
static void p31(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){17.911707, 22.730608, -21.731096, 4.1399364, 19.011728, -24.452284,
        -6.4601283, -15.709381, -10.810975, -6.063674, -13.115743, 18.404913}, RG_SHAPE(4, 3, 1));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){8.188841}, RG_SHAPE(1, 1));
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v3 = rg_sum(v2, .keep = true);
        see(v3, RG_F32, RG_SHAPE(1, 1, 1), (double[]){-132.203829746}, (double[]){0.00066});
        seen(c);
    }
}

/* 32: forward; mul mul mul */
static void p32(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){26.96831261770975, -12.063806235556985, 5.605802342635677,
        6.354662701984893, -12.4813176886796, -15.264876748620356, 9.437263191356358, -29.090593695134135,
        4.482089848038186, -23.73429969450318, 16.777802976450104, 17.404142192384683}, RG_SHAPE(2, 1, 6));
    rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1, 1, 1, 0, 1, 1}, RG_SHAPE(1, 6));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){6.165774651213013, 2.3382797742791723, -17.521658647210153,
        0.992348954528385, -22.23414936834481, -11.649738914545559}, RG_SHAPE(6));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-8.49332309836289}, RG_SHAPE());
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor v4 = rg_mul(v3, v1);
        rg_tensor v6 = rg_mul(v3, v5);
        see(v2, RG_F64, RG_SHAPE(2, 1, 6), (double[]){26.968312617709749, -12.063806235556985, 5.6058023426356769, 0,
            -12.481317688679599, -15.264876748620356, 9.437263191356358, -29.090593695134135, 4.4820898480381857, -0,
            16.777802976450104, 17.404142192384683}, (double[]){2.4e-13, 2e-13, 1.1e-13, 6.6e-14, 1.7e-13, 2.3e-13,
            1.2e-13, 3.9e-13, 1.1e-13, 6.6e-14, 2.4e-13, 1.9e-13});
        see(v4, RG_F64, RG_SHAPE(1, 6), (double[]){6.1657746512130132, 2.3382797742791723, -17.521658647210153, 0,
            -22.234149368344809, -11.649738914545559}, (double[]){8.3e-14, 5.1e-14, 1.3e-13, 4.1e-14, 1.9e-13,
            1.5e-13});
        see(v6, RG_F64, RG_SHAPE(6), (double[]){-52.367916264447871, -19.859765617320058, 148.81710810997984,
            -8.4283402971321966, 188.84181440261361, 98.944996612806804}, (double[]){7.5e-13, 5.1e-13, 1.9e-12,
            4.5e-13, 1.5e-12, 8e-13});
        seen(c);
    }
}

/* 33: grad2; mul grad grad */
static void p33(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xc1dc, 0xc192, 0xc17a, 0x41ac, 0xc1ad, 0x41e5, 0xc1cc},
        RG_SHAPE(7, 1, 1));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-24.78317}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.059067, 0.6795078, -1.5030652, -1.6311709, 0.4689746, 1.5222654,
        0.45677593}, RG_SHAPE(7, 1, 1));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-0.98709834}, RG_SHAPE());
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v1), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v1), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        see(v6, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v4, RG_F32, RG_SHAPE(), (double[]){26.9240323454}, (double[]){0.00011});
        seen(c);
    }
}

/* 34: backward; acos realize_all sum backward */
static void p34(rg_ctx *c) {
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

/* 35: jit; permute mul assign */
static rg_tensor p35_v2, p35_v3, p35_v5;
static rg_status p35_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p35_v2;
    rg_tensor v3 = p35_v3;
    rg_tensor v5 = p35_v5;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
    rg_tensor v4 = rg_mul(v3, v2);
    rg_assign(v2, v5);
    rg_tensor v6 = v2;
    out[0] = v1;
    out[1] = v4;
    return 0;
}
static void p35(rg_ctx *c) {
    p35_v2 = rg_from(c, RG_F16, (uint16_t[]){0xcc69, 0x4520, 0x4f3f, 0x44b8, 0x4954, 0xc468}, RG_SHAPE(6));
    p35_v3 = rg_from(c, RG_BF16, (uint16_t[]){0xc119}, RG_SHAPE());
    p35_v5 = rg_from(c, RG_F16, (uint16_t[]){0x3628, 0x4184, 0xbf64, 0xb48b, 0x3e0d, 0xbcf3}, RG_SHAPE(6));
    rg_jit *jit = rg_jit_new(c, p35_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xbfcd}, RG_SHAPE(1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(1), (double[]){-1.9501953125}, (double[]){0.004});
        see(out[1], RG_F32, RG_SHAPE(6), (double[]){168.688476562, -49.0078125, -277.163085938, -45.123046875,
            -101.900390625, 42.134765625}, (double[]){0.00037, 0.00019, 0.00046, 0.00019, 0.00032, 0.00019});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x4200}, RG_SHAPE(1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(1), (double[]){3}, (double[]){0.0062});
        see(out[1], RG_F32, RG_SHAPE(6), (double[]){-3.67932128906, -26.3715820312, 17.6682128906, 2.71513366699,
            -14.4651489258, 11.8317260742}, (double[]){1.9e-05, 2.7e-05, 4.1e-05, 1.7e-05, 3.2e-05, 2.3e-05});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xbe00}, RG_SHAPE(1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(1), (double[]){-1.5}, (double[]){0.0031});
        see(out[1], RG_F32, RG_SHAPE(6), (double[]){-3.67932128906, -26.3715820312, 17.6682128906, 2.71513366699,
            -14.4651489258, 11.8317260742}, (double[]){1.6e-05, 3.3e-05, 3.1e-05, 1.3e-05, 2.2e-05, 1.8e-05});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x3ebc}, RG_SHAPE(1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(1), (double[]){1.68359375}, (double[]){0.0035});
        see(out[1], RG_F32, RG_SHAPE(6), (double[]){-3.67932128906, -26.3715820312, 17.6682128906, 2.71513366699,
            -14.4651489258, 11.8317260742}, (double[]){1.8e-05, 5.1e-05, 2.5e-05, 1.4e-05, 4e-05, 2e-05});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 36: forward; permute */
static void p36(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.5}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        see(v1, RG_F64, RG_SHAPE(1), (double[]){-2.5}, (double[]){2.3e-15});
        seen(c);
    }
}

/* 37: assign; add assign_slice */
static void p37(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.0977161, 2.6033974, -2.0233014, 2.3864956, -0.44760033, 1.1299742,
        0.551878}, RG_SHAPE(7));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.0}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_add(1, v0);
        rg_assign_slice(v1, v2, RG_SLICES((rg_range){.start = -4, .stop = -5, .step = -2}));
        rg_tensor v3 = v1;
        see(v3, RG_F32, RG_SHAPE(7), (double[]){-0.0977160930634, 3.60339736938, -1.02330136299, -2, 0.552399635315,
            2.12997436523, 1.55187797546}, (double[]){2.1e-06, 5.4e-06, 3.3e-06, 2e-06, 2.2e-06, 4.1e-06, 2.9e-06});
        seen(c);
    }
}

/* 38: grad; asin sum log10 grad */
static void p38(rg_ctx *c) {
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

/* 39: backward; permute mul permute mul permute sum backward */
static void p39(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){2.439255342828334, -1.2066675938958742}, RG_SHAPE(2, 1,
        1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){19.455275049136418}, RG_SHAPE(1)));
    rg_tensor v5 = rg_param(rg_from(c, RG_F64, (double[]){-23.48845358392807, 7.51940598741416, -18.786595547961088,
        -21.805139254159368, -19.931166014522265, 27.4072814284226, 3.30202528760735, -0.260546422408364,
        -12.296769213090169, 22.407202681212368, -13.170164660329313, -29.71900553718774}, RG_SHAPE(4, 3)));
    rg_tensor v6 = rg_param(rg_from(c, RG_F64, (double[]){-16.114695293004047}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 2, 1));
        rg_tensor v3 = rg_mul(v2, v0);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(2, 0, 1));
        rg_tensor v7 = rg_mul(v6, v5);
        rg_tensor v8 = rg_permute(v7, RG_SHAPE(0, 1));
        rg_tensor v9 = rg_sum(v8);
        rg_zero_grad(c);
        rg_backward(v9);
        rg_tensor v10 = rg_param_grad(v5);
        rg_tensor v11 = rg_param_grad(v6);
        see(v10, RG_F64, RG_SHAPE(4, 3), (double[]){-16.114695293004047, -16.114695293004047, -16.114695293004047,
            -16.114695293004047, -16.114695293004047, -16.114695293004047, -16.114695293004047, -16.114695293004047,
            -16.114695293004047, -16.114695293004047, -16.114695293004047, -16.114695293004047}, (double[]){2.5e-13,
            3.1e-13, 2.5e-13, 3.7e-13, 3.7e-13, 2.5e-13, 3.7e-13, 2.7e-13, 2.5e-13, 3.7e-13, 2.5e-13, 2.5e-13});
        see(v11, RG_F64, RG_SHAPE(), (double[]){-78.82192484892991}, (double[]){9.1e-13});
        seen(c);
    }
}

/* 40: forward; add permute add */
static void p40(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.8943992455245295, -0.1483840935541103}, RG_SHAPE(2));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-1.7458483}, RG_SHAPE(1, 1));
    {
        rg_tensor v1 = rg_add(v0, 0.5);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v4 = rg_add(0.5, v3);
        see(v2, RG_F64, RG_SHAPE(2), (double[]){-0.39439924552452954, 0.35161590644588969}, (double[]){9.5e-15,
            3.3e-15});
        see(v4, RG_F32, RG_SHAPE(1, 1), (double[]){-1.24584829807}, (double[]){2.1e-06});
        seen(c);
    }
}

/* 41: assign; sum asinh realize_all mul mul */
static void p41(rg_ctx *c) {
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

/* 42: grad2; add add grad grad */
static void p42(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.4823312851207824, -1.7591020647694928, 0.5355927040578572,
        -1.7146057822411362, -1.6395101482211187, -2.1219130380263467, -0.8328988719515502, -2.797393923879789,
        2.511670086397695, 1.3360774847346182, 0.3373221535093789, -0.4847237152350452, 1.2316461919765285,
        -1.3511852218418399}, RG_SHAPE(2, 7));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.474524}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){1.9153441}, RG_SHAPE(1));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-1.719268374992787, 0.3546445507064617, 0.38559984965859684,
        1.918781982239269, -0.9336170700960138, -0.5053409492950562, -1.754342475621708, -0.5859679111408003,
        0.9891602199378271, 0.4818307339188399, -1.1139452487856398, -1.3178266651836261, 1.5084807807142315,
        1.9792106334226602}, RG_SHAPE(2, 7));
    rg_tensor v8 = rg_from(c, RG_F64, (double[]){1.0834944851168644, -1.4610955050289407, -0.9312787620550207,
        -1.8776441604931429, -0.7790502599333085, -1.6438514968123292, -1.4522623885409685, 0.3291241411152548,
        -1.9316104688164804, -0.4334872333730364, -0.30336242051651663, 0.14808402240167418, 1.9901743252239932,
        -0.4833509332511259}, RG_SHAPE(2, 7));
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v4 = rg_add(v2, v3);
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v3, v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        rg_tensor o9[2];
        rg_grad(v7, RG_TENSORS(v3, v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v10, RG_F64, RG_SHAPE(2, 7), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){4.7e-16,
            4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16, 4.7e-16,
            4.7e-16, 4.7e-16});
        see(v6, RG_F32, RG_SHAPE(1), (double[]){-0.312599944518}, (double[]){4.4e-06});
        see(v7, RG_F64, RG_SHAPE(2, 7), (double[]){-1.7192683749927871, 0.35464455070646173, 0.38559984965859684,
            1.9187819822392691, -0.9336170700960138, -0.50534094929505624, -1.7543424756217081, -0.58596791114080027,
            0.9891602199378271, 0.4818307339188399, -1.1139452487856398, -1.3178266651836261, 1.5084807807142315,
            1.9792106334226602}, (double[]){1.9e-06, 1.3e-06, 1.3e-06, 3.1e-06, 1.8e-06, 1.5e-06, 2.4e-06, 1.5e-06,
            2e-06, 1.1e-06, 2.7e-06, 1.9e-06, 5.2e-06, 1.6e-06});
        seen(c);
    }
}

/* 43: backward; permute sum permute sum backward */
static void p43(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){0.28616288342837226, -0.898637304001153,
        -2.3466287099676406, 1.4955531247667073, 2.694609296953299}, RG_SHAPE(5, 1)));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0, -1), .keep = true);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0, 1));
        rg_tensor v4 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        see(v5, RG_F64, RG_SHAPE(5, 1), (double[]){1, 1, 1, 1, 1}, (double[]){2.9e-14, 2e-14, 2.4e-14, 2.7e-14,
            2.2e-14});
        see(v4, RG_F64, RG_SHAPE(), (double[]){1.231059291179585}, (double[]){2.3e-14});
        seen(c);
    }
}

/* 44: jit; sum permute mul add */
static rg_tensor p44_v5;
static rg_status p44_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v5 = p44_v5;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = in[2];
    rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-1));
    rg_tensor v4 = rg_permute(v2, RG_SHAPE(0));
    rg_tensor v6 = rg_mul(v5, v5);
    rg_tensor v7 = rg_add(v3, v3);
    out[0] = v4;
    out[1] = v6;
    out[2] = v7;
    return 0;
}
static void p44(rg_ctx *c) {
    p44_v5 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(7, 0));
    rg_jit *jit = rg_jit_new(c, p44_body, NULL, 3);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.12127089, 0.76807284, -1.5120535, 2.361717, -1.3804083,
            2.8772025, 1.794073, 1.3289368, 0.6193116, 2.7566214}, RG_SHAPE(5, 2));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.3262553}, RG_SHAPE());
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-1.0}, RG_SHAPE(1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){-1}, (double[]){5e-07});
        see(out[1], RG_F32, RG_SHAPE(7, 0), (double[]){0}, (double[]){0});
        see(out[2], RG_F32, RG_SHAPE(), (double[]){-2}, (double[]){4e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.8410844, -2.737401, -2.5884135, 2.8616579, -1.7325877,
            -1.322487, 2.4543505, 0.12469322, -0.85558754, 0.88679564}, RG_SHAPE(5, 2));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.9262623}, RG_SHAPE());
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-1.2658775}, RG_SHAPE(1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){-1.26587748528}, (double[]){6.3e-07});
        see(out[1], RG_F32, RG_SHAPE(7, 0), (double[]){0}, (double[]){0});
        see(out[2], RG_F32, RG_SHAPE(), (double[]){-2.53175497055}, (double[]){5.8e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.75, 1.0, 2.75, 3.0, 3.0, -2.75, 1.5, 2.0, -1.25, -2.75},
            RG_SHAPE(5, 2));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.0863798}, RG_SHAPE());
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.75}, RG_SHAPE(1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){1.75}, (double[]){8.8e-07});
        see(out[1], RG_F32, RG_SHAPE(7, 0), (double[]){0}, (double[]){0});
        see(out[2], RG_F32, RG_SHAPE(), (double[]){3.5}, (double[]){9.3e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.5761108, 0.5015786, -1.3759003, 0.09093405, -2.6761436,
            -0.9718339, -1.5014174, 0.4505867, -0.25692523, 2.8195448}, RG_SHAPE(5, 2));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.8203261}, RG_SHAPE());
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-1.3399966}, RG_SHAPE(1));
        rg_tensor out[3];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){-1.33999657631}, (double[]){6.7e-07});
        see(out[1], RG_F32, RG_SHAPE(7, 0), (double[]){0}, (double[]){0});
        see(out[2], RG_F32, RG_SHAPE(), (double[]){-2.67999315262}, (double[]){5.8e-06});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 45: loop; permute assign_slice add mul assign */
static void p45(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.4979079}, RG_SHAPE(1));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){-2.8228986}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        rg_assign_slice(v0, v0, RG_SLICES());
        rg_tensor v2 = v0;
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v5 = rg_mul(v3, v4);
        rg_assign(v4, v4);
        rg_tensor v6 = v4;
        see(v1, RG_F32, RG_SHAPE(1), (double[]){2.49790787697}, (double[]){1.3e-06});
        see(v5, RG_F32, RG_SHAPE(1), (double[]){-14.1026814292}, (double[]){3.3e-05});
        see(v6, RG_F32, RG_SHAPE(), (double[]){-2.82289862633}, (double[]){1.4e-06});
        seen(c);
    }
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        rg_assign_slice(v0, v0, RG_SLICES());
        rg_tensor v2 = v0;
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v5 = rg_mul(v3, v4);
        rg_assign(v4, v4);
        rg_tensor v6 = v4;
        see(v1, RG_F32, RG_SHAPE(1), (double[]){2.49790787697}, (double[]){1.3e-06});
        see(v5, RG_F32, RG_SHAPE(1), (double[]){-14.1026814292}, (double[]){3.3e-05});
        see(v6, RG_F32, RG_SHAPE(), (double[]){-2.82289862633}, (double[]){1.4e-06});
        seen(c);
    }
}

/* 46: forward; mul */
static void p46(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-20.149721, -1.2075984, 0.9780733, 5.3841543, -22.536861, 7.6372156,
        -18.865284, 29.603027, 0.12420679}, RG_SHAPE(3, 3));
    {
        rg_tensor v1 = rg_mul(-1.5, v0);
        see(v1, RG_F32, RG_SHAPE(3, 3), (double[]){30.2245817184, 1.8113976717, -1.4671099484, -8.07623147964,
            33.8052921295, -11.4558234215, 28.2979259491, -44.4045410156, -0.186310183257}, (double[]){5.5e-05,
            2.3e-05, 2.2e-05, 2.8e-05, 6.8e-05, 3.2e-05, 5.9e-05, 6.3e-05, 2e-05});
        seen(c);
    }
}

/* 47: forward; acosh mul */
static void p47(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){29.448643, 2.4070704}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_acosh(v0);
        rg_tensor v2 = rg_mul(v0, v1);
        see(v2, RG_F32, RG_SHAPE(2), (double[]){120.018137839, 3.67153894224}, (double[]){0.0002, 6.4e-05});
        seen(c);
    }
}

/* 48: grad; atanh mul atan atan grad */
static void p48(rg_ctx *c) {
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

/* 49: grad2; sum sum mul add mul grad grad */
static void p49(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.4212353, -0.9043876, -1.1089935, -0.5977249, 0.9493328, 2.3395755,
        0.91289335}, RG_SHAPE(7, 1));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.714011}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-1.3715872}, RG_SHAPE(1, 1));
    rg_tensor v10 = rg_from(c, RG_F32, (float[]){-1.9583058, 1.177913, -1.4658821, 0.97959083, -0.16343461, 0.825764,
        -1.8386191}, RG_SHAPE(7, 1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, 1), .keep = true);
        rg_tensor v3 = rg_sum(v2, .keep = true);
        rg_tensor v4 = rg_mul(v2, v3);
        rg_tensor v5 = rg_add(v1, 3);
        rg_tensor v6 = rg_mul(v5, v5);
        rg_tensor o8[2];
        rg_grad(v6, RG_TENSORS(v2, v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        rg_tensor o11[2];
        rg_grad(v9, RG_TENSORS(v2, v0), o11, .seed = v10, .unused_ok = true);
        rg_tensor v11 = o11[0], v12 = o11[1];
        see(v11, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v12, RG_F32, RG_SHAPE(7, 1), (double[]){6.70150308135, 6.70150308135, 6.70150308135, 6.70150308135,
            6.70150308135, 6.70150308135, 6.70150308135}, (double[]){6.4e-05, 5.8e-05, 5.6e-05, 5.2e-05, 5e-05,
            5.4e-05, 5.4e-05});
        see(v8, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v9, RG_F32, RG_SHAPE(7, 1), (double[]){-16.4917745421, -16.4917745421, -16.4917745421, -16.4917745421,
            -16.4917745421, -16.4917745421, -16.4917745421}, (double[]){0.00014, 0.00014, 0.00014, 0.00013, 0.00014,
            0.00014, 0.00014});
        seen(c);
    }
}

/* 50: backward; mul sum backward */
static void p50(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){2.819963, 22.14414, -7.6322284, 10.739639}, RG_SHAPE(4)));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(4), (double[]){5.63992595673, 44.2882804871, -15.264456749, 21.4792785645},
            (double[]){3.3e-05, 8.2e-05, 4.3e-05, 5.3e-05});
        see(v2, RG_F32, RG_SHAPE(), (double[]){671.905900197}, (double[]){0.0012});
        seen(c);
    }
}

/* 51: loop; sum realize assign */
static void p51(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.6587206304189346, -0.30166746692044466, 1.0755703650090682,
        0.8511089957587634, -1.4078113933456524, -2.1158266258255782, 0.7658975911038945, 2.524034809346537,
        2.80005949696392, -2.5408318141929427, -2.4325705443383714, 2.867052285795796, 2.957803843666282,
        2.9198243193148974, 0.09461642069054665}, RG_SHAPE(3, 5, 1));
    {
        rg_tensor v1 = rg_sum(v0);
        rg_realize(v1);
        rg_assign(v1, 0.5);
        rg_tensor v2 = v1;
        see(v2, RG_F64, RG_SHAPE(), (double[]){0.5}, (double[]){4.7e-16});
        seen(c);
    }
    {
        rg_tensor v1 = rg_sum(v0);
        rg_realize(v1);
        rg_assign(v1, 0.5);
        rg_tensor v2 = v1;
        see(v2, RG_F64, RG_SHAPE(), (double[]){0.5}, (double[]){4.7e-16});
        seen(c);
    }
}

/* 52: forward; permute sum mul mul permute */
static void p52(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 3, 2, 1));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 2, 1, 3));
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(1, 3));
        rg_tensor v4 = rg_mul(v3, v3);
        rg_tensor v5 = rg_mul(v4, 2.0);
        rg_tensor v6 = rg_permute(v5, RG_SHAPE(0, -1));
        see(v2, RG_F64, RG_SHAPE(0, 3), (double[]){0}, (double[]){0});
        see(v6, RG_F64, RG_SHAPE(0, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 53: assign; add */
static void p53(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.36029328507607206, 1.659910055521614}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_add(v0, 2.0);
        see(v1, RG_F64, RG_SHAPE(2), (double[]){2.3602932850760721, 3.659910055521614}, (double[]){2e-14, 2.1e-14});
        seen(c);
    }
}

/* 54: grad; erf sqrt grad */
static void p54(rg_ctx *c) {
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
            3.09652578272e-06}, (double[]){0.00072, 0.00076, 0.00071, 0.00073, 0.0028, 0.00071, 0.014, 0.00079,
            0.0022, 0.00072, 0.00071, 0.0069, 0.00071, 0.00084, 0.00071});
        seen(c);
    }
}

/* 55: grad2; sum add permute grad grad */
static void p55(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.58785963}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){-0.87977934, -2.204463, 0.14893794, 2.218001, 0.3062245, -0.20393796,
        -2.7222037, 2.727334, 2.6444197, -1.2619404}, RG_SHAPE(5, 2));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-1.9505644, 0.24534482, 0.56387556, 1.6039869, 0.82524157, 1.1609828,
        1.3749794, -0.3275635, -1.0280042, 0.9620978}, RG_SHAPE(2, 5));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){-0.7606324, -1.0683815, 1.3997252, -1.5455441, 0.16241322, -0.4222471,
        0.6356795, -1.8541586, 1.3571067, -1.6999589}, RG_SHAPE(5, 2));
    {
        rg_tensor v1 = rg_sum(v0, .keep = true);
        rg_tensor v2 = rg_add(v1, 0.25);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(1, 0));
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v3, v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        rg_tensor o9[2];
        rg_grad(v6, RG_TENSORS(v3, v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F32, RG_SHAPE(5, 2), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v10, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v6, RG_F32, RG_SHAPE(5, 2), (double[]){-1.95056438446, 1.16098284721, 0.245344817638, 1.37497937679,
            0.563875555992, -0.327563494444, 1.60398685932, -1.02800416946, 0.825241565704, 0.96209782362},
            (double[]){3.3e-06, 1.6e-06, 1.2e-06, 1.7e-06, 1.2e-06, 1.1e-06, 2.8e-06, 1.6e-06, 1.8e-06, 2.1e-06});
        see(v7, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        seen(c);
    }
}

/* 56: backward; add mul sum realize backward */
static void p56(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.67473954, 0.6545159, -1.9192209, -0.090230025, -0.9806258,
        -1.4790009, -0.864511, -1.0598911, 2.768231, -0.19791926, 1.5462787, -1.4685662, -2.636352, 1.0331832,
        -0.7962658, -1.8769957, -0.2384249, 0.05225683, -2.3045263, 2.417082, -2.5098407, 0.551011, -0.053053744,
        -1.5449791, -0.29661825, 0.045635704, -2.0592022, 1.6899947, -1.8588858, -0.7725843}, RG_SHAPE(6, 5)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F32, (float[]){-1.7240866}, RG_SHAPE()));
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor v3 = rg_mul(v1, v1);
        rg_tensor v4 = rg_sum(v3);
        rg_realize(v2);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v1);
        see(v5, RG_F32, RG_SHAPE(), (double[]){-3.44817328453}, (double[]){2.1e-05});
        seen(c);
    }
}

/* 57: forward; add sigmoid */
static void p57(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x4000, 0x3f00}, RG_SHAPE(1, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.265982}, RG_SHAPE(1, 1));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_sigmoid(v2);
        see(v3, RG_F32, RG_SHAPE(1, 2), (double[]){0.963243176998, 0.953290941618}, (double[]){2.2e-06, 1.7e-06});
        seen(c);
    }
}

/* 58: forward; mul rsqrt permute */
static void p58(rg_ctx *c) {
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

/* 59: grad2; permute grad grad */
static void p59(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.05576456285014153, -1.9313307612020214}, RG_SHAPE(2));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-0.7870104429732665, -0.7897915426127993}, RG_SHAPE(2));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-0.2765212072919132, -0.2909084404422959}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
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

/* 60: backward; permute add sum backward */
static void p60(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){0.724184571128748, -0.2525670615415869, -0.5337842164265592,
        -1.3713818492563707, -1.2384971362328174, -2.4427752203061392, 1.4016830880686353, -2.393300362244678},
        RG_SHAPE(2, 4)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){1.0753517412541749}, RG_SHAPE(1, 1)));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1, 0));
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v4 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v2);
        see(v5, RG_F64, RG_SHAPE(1, 1), (double[]){2}, (double[]){4.7e-14});
        see(v4, RG_F64, RG_SHAPE(), (double[]){2.1507034825083498}, (double[]){2.7e-14});
        seen(c);
    }
}

/* 61: forward; mul add add sum mul */
static void p61(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.24953883405339639, 9.772111583357791, 9.487152491986699,
        1.6426633947062825, 14.345393202840754, -20.755849344606446, -5.348326808767073, 29.342119191300682,
        6.30753084514113, -28.234200430053654, 8.542710751986533, -1.6450217310593231}, RG_SHAPE(2, 1, 3, 2));
    rg_tensor v1 = rg_from(c, RG_F16, (uint16_t[]){0x40c3}, RG_SHAPE());
    rg_tensor v6 = rg_from(c, RG_BF16, (uint16_t[]){0x418d}, RG_SHAPE());
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v3 = rg_add(2, v2);
        rg_tensor v4 = rg_add(v1, v1);
        rg_tensor v5 = rg_sum(v4, .keep = true);
        rg_tensor v7 = rg_mul(v5, v6);
        see(v3, RG_F64, RG_SHAPE(2, 1, 3, 2), (double[]){2.5941168724825978, 25.266023476783491, 24.587575952601142,
            5.9109505432557778, 36.154363895044682, -47.416758498193865, -10.733614023216917, 71.859459558975644,
            17.017343945755933, -65.221660789522275, 22.338992981780436, -1.9165654104713181}, (double[]){2.1e-05,
            4.1e-05, 6.6e-05, 2.3e-05, 9.1e-05, 7.8e-05, 3.4e-05, 5.2e-05, 3.6e-05, 9.9e-05, 7.3e-05, 2.4e-05});
        see(v5, RG_F16, RG_SHAPE(), (double[]){4.76171875}, (double[]){0.093});
        see(v7, RG_F32, RG_SHAPE(), (double[]){83.9252929688}, (double[]){1.5});
        seen(c);
    }
}

/* 62: forward; permute */
static void p62(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BOOL, (bool[]){1, 0, 1, 0, 1, 1}, RG_SHAPE(6));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        see(v1, RG_BOOL, RG_SHAPE(6), (double[]){1, 0, 1, 0, 1, 1}, NULL);
        seen(c);
    }
}

/* 63: assign; sum add */
static void p63(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.75, 0.25, 0.5, -0.5}, RG_SHAPE(4));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
        rg_tensor v2 = rg_add(-1.5, v1);
        see(v2, RG_F64, RG_SHAPE(), (double[]){-2}, (double[]){1.9e-14});
        seen(c);
    }
}

/* 64: grad; mul permute sum grad */
static void p64(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){14.116854253505643}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-1.3625046997304127, 2.8498340796994706, -2.4458856978647345,
        0.7777701840260907, -0.7262352984950873, 1.066603129680061}, RG_SHAPE(6));
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-0.2834784672573365}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0));
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(-1), .keep = true);
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v0, v2), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        see(v6, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v7, RG_F64, RG_SHAPE(6), (double[]){-0.2834784672573365, -0.2834784672573365, -0.2834784672573365,
            -0.2834784672573365, -0.2834784672573365, -0.2834784672573365}, (double[]){4.8e-15, 4.8e-15, 4.8e-15,
            4.8e-15, 5.7e-15, 4.8e-15});
        seen(c);
    }
}

/* 65: grad2; sum mul silu logsigmoid grad grad */
static void p65(rg_ctx *c) {
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

/* 66: backward; add realize_all mul add mul backward */
static void p66(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){2.1167386705921167}, RG_SHAPE()));
    rg_tensor v2 = rg_param(rg_from(c, RG_F64, (double[]){1.1659269950652345, 26.654097613894372, -17.856395131615425,
        -6.674003841324524, -12.226623053800086, 19.573823368580967, 25.32153538383743, -1.84725583552299,
        -27.91319844822609, -29.030234732268497, 21.435437094214173, -27.487597001436203, 10.561770457509596,
        25.460109379723463, -14.657172293275863, 18.183541657212324, -9.515001898637664, 24.806802492804245,
        -16.04865161842755, 20.649888126650744, -10.364116908420243, 24.180485678302702, 26.46469926339686,
        -19.791314590604852, -19.287361155536722, 5.686750993108468, 10.610577800942679, -28.78775744106826,
        -18.383511092742275, 11.713131215575402, -14.859783526574365, -7.40001088440842, -2.8852735298614505,
        7.9805557258102695, -1.784438317041964, -22.954786440882025, -4.161342434029873, -6.71285952371575,
        21.580580461020624, 19.79846758633454, -25.509975280190183, 22.753617964659632, -16.66116503516537,
        -24.1768073494774, 19.192916089559276, 29.192689578483446, -21.73871686111191, 18.61825611926008,
        18.864600541484258, -18.137330916429526, 13.474238432281112, 3.0510984384855604, 20.40419839362724,
        -17.21098197613096}, RG_SHAPE(3, 6, 3)));
    {
        rg_tensor v1 = rg_add(3, v0);
        rg_realize_all(RG_TENSORS(v0));
        rg_tensor v3 = rg_mul(v2, v2);
        rg_tensor v4 = rg_add(v0, -1.5);
        rg_tensor v5 = rg_mul(v1, 2.0);
        rg_zero_grad(c);
        rg_backward(v5);
        rg_tensor v6 = rg_param_grad(v0);
        see(v6, RG_F64, RG_SHAPE(), (double[]){2}, (double[]){1.3e-14});
        seen(c);
    }
}

/* 67: forward; mul permute mul */
static void p67(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){10.574556863239039, 3.753655055459774, -1.3559841599757512,
        -5.277372008123777, -19.018037145239767, 8.151492456957179, -27.33996935117218, -0.24743035330002172},
        RG_SHAPE(4, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){2.0226746, -0.057810623, 2.571367, 0.65712714}, RG_SHAPE(1, 2, 2));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(2, 1, 0));
        rg_tensor v4 = rg_mul(-1.5, v2);
        see(v1, RG_F64, RG_SHAPE(4, 2), (double[]){111.82125285387586, 14.089926275378717, 1.8386930421051435,
            27.850655312128385, 361.68573685771952, 66.446829275829785, 747.47392412303407, 0.061221779734173573},
            (double[]){1.7e-12, 1.2e-12, 1.1e-12, 1.4e-12, 4.3e-12, 1.5e-12, 8.6e-12, 1.1e-12});
        see(v3, RG_F32, RG_SHAPE(2, 2, 1), (double[]){2.02267456055, 2.57136702538, -0.0578106231987, 0.657127141953},
            (double[]){1.2e-06, 1.3e-06, 6.6e-07, 8.1e-07});
        see(v4, RG_F32, RG_SHAPE(1, 2, 2), (double[]){-3.03401184082, 0.0867159347981, -3.85705053806,
            -0.985690712929}, (double[]){4.5e-06, 1.8e-06, 6.2e-06, 2.5e-06});
        seen(c);
    }
}

/* 68: forward; mul sum mul sum */
static void p68(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1));
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0x3fdf}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_mul(v0, 1);
        rg_tensor v2 = rg_sum(v1);
        rg_tensor v3 = rg_mul(v2, v2);
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(0), .keep = true);
        see(v3, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){1e-36});
        see(v5, RG_BF16, RG_SHAPE(1), (double[]){1.7421875}, (double[]){0.073});
        seen(c);
    }
}

/* 69: assign; realize_all permute assign_slice sum assign_slice */
static void p69(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4030, 0xc000}, RG_SHAPE(2));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(2, 7, 0));
    rg_tensor v5 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(0, 1, 0));
    {
        rg_realize_all(RG_TENSORS(v0));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        rg_assign_slice(v0, 3, RG_SLICES());
        rg_tensor v2 = v0;
        rg_tensor v4 = rg_sum(v3, .axes = RG_SHAPE(0, 1, -1), .keep = true);
        rg_assign_slice(v4, v5, RG_SLICES((rg_range){.start = 1, .stop = 1, .step = 1}, (rg_range){.start = -1, .stop
            = -1, .step = 1}, (rg_range){.start = 1, .stop = RG_END, .step = 1}));
        rg_tensor v6 = v4;
        see(v1, RG_BF16, RG_SHAPE(2), (double[]){2.75, -2}, (double[]){0.045, 0.033});
        see(v2, RG_BF16, RG_SHAPE(2), (double[]){3, 3}, (double[]){0.049, 0.049});
        see(v6, RG_BF16, RG_SHAPE(1, 1, 1), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
}

/* 70: grad; mul grad */
static void p70(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){4.7037077, -2.9959688, -8.690948, -18.718212}, RG_SHAPE(4));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.3920764, 1.1401323, 1.710661, 0.21324585}, RG_SHAPE(4));
    {
        rg_tensor v1 = rg_mul(0.25, v0);
        rg_tensor o3[1];
        rg_grad(v1, RG_TENSORS(v0), o3, .seed = v2, .unused_ok = true);
        rg_tensor v3 = o3[0];
        see(v3, RG_F32, RG_SHAPE(4), (double[]){0.348019093275, 0.285033077002, 0.427665263414, 0.0533114634454},
            (double[]){1.2e-06, 9.1e-07, 1.2e-06, 5.6e-07});
        see(v1, RG_F32, RG_SHAPE(4), (double[]){1.17592692375, -0.748992204666, -2.17273688316, -4.67955303192},
            (double[]){3.4e-06, 2.8e-06, 4.7e-06, 7.3e-06});
        seen(c);
    }
}

/* 71: grad2; gelu_tanh add grad grad */
static void p71(rg_ctx *c) {
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

/* 72: assign; sum realize realize_all */
static void p72(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-1.25, 1.75, -2.25}, RG_SHAPE(3));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_realize(v0);
        rg_realize_all(RG_TENSORS(v1, v0, v0));
        see(v1, RG_F64, RG_SHAPE(1), (double[]){-1.75}, (double[]){3e-14});
        seen(c);
    }
}

/* 73: grad2; add add sum add add grad grad */
static void p73(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.2524776, -1.8328236, 0.8103413, -1.3960639, 2.377078, 0.9929333,
        2.328252, -0.41980702, -1.9856329, -2.9909883, 1.3577232, 1.0909619, -1.8783926, 2.7604797, 1.7860943,
        2.29006, 0.7305914, 0.6503465, -1.2064302, -2.585831}, RG_SHAPE(1, 5, 4));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-1.9238182}, RG_SHAPE());
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){1.6833037, -2.3519814, 1.9291747, -0.28693858}, RG_SHAPE(4));
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-1.7895427, -2.6631646, -2.504609, -1.9575734}, RG_SHAPE(4));
    rg_tensor v9 = rg_from(c, RG_F32, (float[]){0.31803983, 0.8921903, 1.1881325, -1.4804145}, RG_SHAPE(4));
    rg_tensor v12 = rg_from(c, RG_F32, (float[]){-1.3885034, -1.5448363, 1.7535492, 1.670198}, RG_SHAPE(4));
    {
        rg_tensor v2 = rg_add(v0, v1);
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v4 = rg_sum(v2, .axes = RG_SHAPE(1, 2));
        rg_tensor v5 = rg_add(v4, v4);
        rg_tensor v8 = rg_add(v6, v7);
        rg_tensor o10[2];
        rg_grad(v8, RG_TENSORS(v1, v6), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1];
        rg_tensor o13[2];
        rg_grad(v11, RG_TENSORS(v1, v6), o13, .seed = v12, .unused_ok = true);
        rg_tensor v13 = o13[0], v14 = o13[1];
        see(v13, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v14, RG_F32, RG_SHAPE(4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 74: backward; mul sum backward */
static void p74(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-16.077034467383807}, RG_SHAPE(1)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F64, (double[]){0.3056449316910772}, RG_SHAPE()));
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v3 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        rg_tensor v5 = rg_param_grad(v1);
        see(v4, RG_F64, RG_SHAPE(1), (double[]){0.3056449316910772}, (double[]){6.3e-15});
        see(v5, RG_F64, RG_SHAPE(), (double[]){-16.077034467383807}, (double[]){4e-13});
        seen(c);
    }
}

/* 75: forward; permute realize_all realize_all mul */
static void p75(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.7313077542991993, 0.9045111685294862}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_realize_all(RG_TENSORS(v1, v0));
        rg_realize_all(RG_TENSORS(v0, v1, v0));
        rg_tensor v2 = rg_mul(0.25, v1);
        see(v2, RG_F64, RG_SHAPE(2), (double[]){-0.18282693857479981, 0.22612779213237155}, (double[]){2.9e-15,
            2e-15});
        seen(c);
    }
}

/* 76: forward; add mul add gelu add */
static void p76(rg_ctx *c) {
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

/* 77: assign; softplus */
static void p77(rg_ctx *c) {
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

/* 78: grad; add recip grad */
static void p78(rg_ctx *c) {
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

/* 79: grad2; softsign add mul grad grad */
static void p79(rg_ctx *c) {
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

/* 80: backward; sum realize_all realize_all add backward */
static void p80(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){-1.1400937095386745}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_sum(v0, .keep = true);
        rg_realize_all(RG_TENSORS(v0));
        rg_realize_all(RG_TENSORS(v1, v0));
        rg_tensor v2 = rg_add(v1, 2.0);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F64, RG_SHAPE(), (double[]){1}, (double[]){9.3e-15});
        seen(c);
    }
}

/* 81: forward; mish mul add */
static void p81(rg_ctx *c) {
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

/* 82: assign; realize assign realize assign_slice */
static void p82(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.75, 1.0, -1.0, -0.0, 1.5, -2.75, 1.5, -1.25, 2.75, -2.25, -2.75,
        0.25, 2.25, -1.75, 1.5, -0.0, -2.5, 0.5, 0.0, 0.5, 1.5, -0.75, 2.0, -2.75}, RG_SHAPE(3, 1, 2, 4));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4));
    {
        rg_realize(v0);
        rg_assign(v0, v0);
        rg_tensor v1 = v0;
        rg_realize(v1);
        rg_assign_slice(v1, v2, RG_SLICES((rg_range){.start = 0, .stop = RG_END, .step = 1}, (rg_range){.start = -1,
            .stop = RG_END, .step = 0}, (rg_range){.start = 0, .stop = -3, .step = 0}, (rg_range){.start = 0, .stop =
            RG_END, .step = 0}));
        rg_tensor v3 = v1;
        see(v3, RG_F32, RG_SHAPE(3, 1, 2, 4), (double[]){-0.75, 1, -1, -0, 1.5, -2.75, 1.5, -1.25, 2.75, -2.25, -2.75,
            0.25, 2.25, -1.75, 1.5, -0, -2.5, 0.5, 0, 0.5, 1.5, -0.75, 2, -2.75}, (double[]){8.8e-07, 9.4e-07,
            9.4e-07, 6.9e-07, 1.1e-06, 1.4e-06, 1.1e-06, 1e-06, 1.4e-06, 1.3e-06, 1.4e-06, 7.5e-07, 1.3e-06, 1.1e-06,
            1.1e-06, 6.9e-07, 1.3e-06, 8.1e-07, 6.9e-07, 8.1e-07, 1.1e-06, 8.8e-07, 1.2e-06, 1.4e-06});
        seen(c);
    }
}

/* 83: grad; add permute add mul mul grad */
static void p83(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.5809268}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.137717, 2.9059856, -1.2655686, 2.762515, 0.82256126, -1.2191346,
        1.328601}, RG_SHAPE(7));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-29.754875}, RG_SHAPE());
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){0.2907345}, RG_SHAPE());
    {
        rg_tensor v1 = rg_add(v0, 0.25);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0));
        rg_tensor v4 = rg_add(v3, v3);
        rg_tensor v5 = rg_mul(v1, v0);
        rg_tensor v7 = rg_mul(v6, v5);
        rg_tensor o9[2];
        rg_grad(v7, RG_TENSORS(v0, v6), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F32, RG_SHAPE(), (double[]){25.1897717104}, (double[]){8.5e-05});
        see(v10, RG_F32, RG_SHAPE(), (double[]){0.611733814465}, (double[]){2.8e-06});
        seen(c);
    }
}

/* 84: backward; mul permute sum backward */
static void p84(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){21.140293389584087, 16.329717009837502, 28.464719211081146,
        -8.410586827871114, 29.105367584885606}, RG_SHAPE(5)));
    rg_tensor v1 = rg_param(rg_from(c, RG_F64, (double[]){2.158883678772753}, RG_SHAPE()));
    {
        rg_tensor v2 = rg_mul(v1, v0);
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0));
        rg_tensor v4 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        rg_tensor v6 = rg_param_grad(v1);
        see(v5, RG_F64, RG_SHAPE(5), (double[]){2.158883678772753, 2.158883678772753, 2.158883678772753,
            2.158883678772753, 2.158883678772753}, (double[]){5.2e-14, 5.2e-14, 5.2e-14, 5.9e-14, 4.4e-14});
        see(v6, RG_F64, RG_SHAPE(), (double[]){86.629510367517227}, (double[]){8.6e-13});
        see(v4, RG_F64, RG_SHAPE(), (double[]){187.02303603250795}, (double[]){2.1e-12});
        seen(c);
    }
}

/* 85: jit; add sum permute */
static rg_tensor p85_v1;
static rg_status p85_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p85_v1;
    rg_tensor v0 = in[0];
    rg_tensor v2 = rg_add(v0, v1);
    rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(0, 1, 2), .keep = true);
    rg_tensor v4 = rg_permute(v3, RG_SHAPE(1, 2, -3));
    out[0] = v4;
    out[1] = v2;
    return 0;
}
static void p85(rg_ctx *c) {
    p85_v1 = rg_from(c, RG_F64, (double[]){2.25}, RG_SHAPE(1, 1, 1));
    rg_jit *jit = rg_jit_new(c, p85_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.9311085, -0.70705324, 2.8234792}, RG_SHAPE(1, 3, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1, 1), (double[]){11.79753440618515}, (double[]){2.1e-05});
        see(out[1], RG_F64, RG_SHAPE(1, 3, 1), (double[]){5.1811084747314453, 1.5429467558860779, 5.073479175567627},
            (double[]){5.5e-06, 2.8e-06, 5.5e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.054985438, 1.3336015, 0.65904725}, RG_SHAPE(1, 3, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1, 1), (double[]){8.6876632831990719}, (double[]){1.3e-05});
        see(out[1], RG_F64, RG_SHAPE(1, 3, 1), (double[]){2.1950145624577999, 3.5836014747619629, 2.9090472459793091},
            (double[]){3.8e-06, 4.5e-06, 5e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.5, -1.25, 1.5}, RG_SHAPE(1, 3, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1, 1), (double[]){6.5}, (double[]){6e-06});
        see(out[1], RG_F64, RG_SHAPE(1, 3, 1), (double[]){1.75, 1, 3.75}, (double[]){1.5e-06, 1.5e-06, 1.5e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.37644753, -2.4602535, 1.4232965}, RG_SHAPE(1, 3, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1, 1), (double[]){6.0894905030727386}, (double[]){5.4e-06});
        see(out[1], RG_F64, RG_SHAPE(1, 3, 1), (double[]){2.6264475286006927, -0.21025347709655762,
            3.6732964515686035}, (double[]){3.7e-06, 3e-06, 3.1e-06});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 86: assign; permute mul */
static void p86(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.75, -1.75, 1.0}, RG_SHAPE(3));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_mul(0.25, v1);
        see(v1, RG_F64, RG_SHAPE(3), (double[]){2.75, -1.75, 1}, (double[]){2.6e-15, 2.1e-15, 1.7e-15});
        see(v2, RG_F64, RG_SHAPE(3), (double[]){0.6875, -0.4375, 0.25}, (double[]){5.5e-15, 3.6e-15, 3e-15});
        seen(c);
    }
}

/* 87: grad; add selu sum grad */
static void p87(rg_ctx *c) {
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

/* 88: grad2; sum mul add mul grad grad */
static void p88(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.9518826, -1.0012753, -1.0192094, 2.0031724}, RG_SHAPE(2, 2));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-17.55124}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_BF16, (uint16_t[]){0x401f}, RG_SHAPE());
    rg_tensor v7 = rg_from(c, RG_F32, (float[]){-0.65897316}, RG_SHAPE());
    rg_tensor v11 = rg_from(c, RG_F32, (float[]){0.21136798}, RG_SHAPE());
    {
        rg_tensor v1 = rg_sum(v0);
        rg_tensor v3 = rg_mul(v2, -1.5);
        rg_tensor v5 = rg_add(v3, v4);
        rg_tensor v6 = rg_mul(v5, v4);
        rg_tensor o8[3];
        rg_grad(v5, RG_TENSORS(v4, v2, v0), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1], v10 = o8[2];
        rg_tensor o12[3];
        rg_grad(v9, RG_TENSORS(v4, v2, v0), o12, .seed = v11, .unused_ok = true);
        rg_tensor v12 = o12[0], v13 = o12[1], v14 = o12[2];
        see(v12, RG_BF16, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v13, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v14, RG_F32, RG_SHAPE(2, 2), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v5, RG_F32, RG_SHAPE(), (double[]){28.8112363815}, (double[]){0.0001});
        seen(c);
    }
}

/* 89: backward; add sum realize hardsigmoid add sum backward */
static void p89(rg_ctx *c) {
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

/* 90: forward; add mul quick_gelu mul */
static void p90(rg_ctx *c) {
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

/* 91: assign; sum assign_slice assign_slice add assign */
static void p91(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.7710859494383042, -2.36375816653254, 2.4788683610989413,
        1.757690566248372}, RG_SHAPE(2, 2));
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){-0.5, 1.0}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_sum(v0);
        rg_assign_slice(v0, 3, RG_SLICES((rg_range){.start = 1, .stop = 1, .step = 1}));
        rg_tensor v2 = v0;
        rg_assign_slice(v2, v2, RG_SLICES((rg_range){.start = 0, .stop = RG_END, .step = 0}));
        rg_tensor v3 = v2;
        rg_tensor v5 = rg_add(v4, v3);
        rg_assign(v4, v4);
        rg_tensor v6 = v4;
        see(v1, RG_F64, RG_SHAPE(), (double[]){3.6438867102530774}, (double[]){3.3e-14});
        see(v5, RG_F64, RG_SHAPE(2, 2), (double[]){1.2710859494383042, -1.36375816653254, 1.9788683610989413,
            2.7576905662483719}, (double[]){2.3e-14, 2.2e-14, 2.4e-14, 2.1e-14});
        see(v6, RG_F64, RG_SHAPE(2), (double[]){-0.5, 1}, (double[]){7e-16, 9.3e-16});
        seen(c);
    }
}

/* 92: grad; add grad */
static void p92(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 1, 0, 2));
    rg_tensor v1 = rg_from(c, RG_F32, (float[]){-0.9360868}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 1, 0, 2));
    {
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor o4[2];
        rg_grad(v2, RG_TENSORS(v1, v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0], v5 = o4[1];
        see(v4, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v5, RG_F32, RG_SHAPE(3, 1, 0, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 93: forward; neg */
static void p93(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.75, 0.75}, RG_SHAPE(1, 2));
    {
        rg_tensor v1 = rg_neg(v0);
        see(v1, RG_F32, RG_SHAPE(1, 2), (double[]){0.75, -0.75}, (double[]){2.1e-06, 1.3e-06});
        seen(c);
    }
}

/* 94: assign; hardswish permute sum */
static void p94(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.3038912}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_hardswish(v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-1));
        see(v3, RG_F32, RG_SHAPE(), (double[]){-0.267293161265}, (double[]){8.5e-07});
        seen(c);
    }
}

/* 95: grad; add add permute sum grad */
static void p95(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbfe4}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){-0.5829966, -1.0516804, -1.0300077, -1.1971718, -0.60813403,
        1.5478485, -2.306511, 2.6718464, -0.0987816, -2.2712524, 2.9905891, -1.8360159, -0.67683697, -0.6714145},
        RG_SHAPE(7, 2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){0.31392807, -0.31424108, -1.4348962, 1.2712885, -1.5924095,
        -1.6917902, -0.2316062}, RG_SHAPE(1, 7));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_add(v2, v2);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(-1, 0));
        rg_tensor v5 = rg_sum(v4, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v2, v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F32, RG_SHAPE(7, 2), (double[]){0.627856135368, 0.627856135368, -0.628482162952, -0.628482162952,
            -2.8697924614, -2.8697924614, 2.54257702827, 2.54257702827, -3.18481898308, -3.18481898308,
            -3.38358044624, -3.38358044624, -0.463212400675, -0.463212400675}, (double[]){3e-06, 3.7e-06, 3.5e-06,
            3e-06, 7e-06, 1e-05, 5e-06, 7e-06, 5.1e-06, 9.1e-06, 7.2e-06, 1.1e-05, 3.1e-06, 2.8e-06});
        see(v8, RG_BF16, RG_SHAPE(), (double[]){0}, (double[]){2.5e-07});
        see(v5, RG_F32, RG_SHAPE(1, 7), (double[]){-3.269354105, -4.45435905457, 1.87942886353, 0.730670928955,
            -4.74006798863, 2.30914640427, -2.69650292397}, (double[]){7.5e-06, 1.1e-05, 9.6e-06, 7.9e-06, 1.3e-05,
            8.2e-06, 8.3e-06});
        seen(c);
    }
}

/* 96: backward; permute sum backward */
static void p96(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-1.0686866, 0.4360847, -2.7922394}, RG_SHAPE(1, 3)));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-2, 1));
        rg_tensor v2 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F32, RG_SHAPE(1, 3), (double[]){1, 1, 1}, (double[]){2e-06, 1.7e-06, 2e-06});
        seen(c);
    }
}

/* 97: jit; sum sum */
static rg_tensor p97_v2;
static rg_status p97_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p97_v2;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
    rg_tensor v3 = rg_sum(v2, .keep = true);
    out[0] = v1;
    out[1] = v3;
    return 0;
}
static void p97(rg_ctx *c) {
    p97_v2 = rg_from(c, RG_F64, (double[]){0.4243904094282911}, RG_SHAPE());
    rg_jit *jit = rg_jit_new(c, p97_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.3625218, 2.9085214, -0.12039461, 2.8746316, -1.9155533},
            RG_SHAPE(5));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.38468334824}, (double[]){4.3e-06});
        see(out[1], RG_F64, RG_SHAPE(), (double[]){0.42439040942829109}, (double[]){6.2e-15});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.5, -1.0, 2.75, -2.0, 0.5}, RG_SHAPE(5));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){-0.25}, (double[]){2.8e-06});
        see(out[1], RG_F64, RG_SHAPE(), (double[]){0.42439040942829109}, (double[]){6.2e-15});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.25, -2.0, -2.5, 3.0, -1.75}, RG_SHAPE(5));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){-3.5}, (double[]){6.3e-06});
        see(out[1], RG_F64, RG_SHAPE(), (double[]){0.42439040942829109}, (double[]){7.6e-15});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 98: assign; permute */
static void p98(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.35690075}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        see(v1, RG_F32, RG_SHAPE(1), (double[]){0.356900751591}, (double[]){1.8e-07});
        seen(c);
    }
}

/* 99: grad; sum add grad */
static void p99(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.5765646, 0.07576942, 0.9634358, 0.30649215, -0.073368914},
        RG_SHAPE(1, 5));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){1.7658606, 1.3329598, -0.76562184, 1.8829038, 0.18825597}, RG_SHAPE(1,
        5));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0), .keep = true);
        rg_tensor v2 = rg_add(v1, v0);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        see(v4, RG_F32, RG_SHAPE(1, 5), (double[]){3.53172111511, 2.66591954231, -1.53124368191, 3.76580762863,
            0.376511931419}, (double[]){9.1e-06, 4.9e-06, 4.6e-06, 5.2e-06, 2.9e-06});
        seen(c);
    }
}

/* 100: grad2; mul square sum grad grad */
static void p100(rg_ctx *c) {
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

/* 101: backward; permute realize permute sum backward */
static void p101(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-0.26643193, -2.8884497, -1.4993365, -0.283115, -1.1033123,
        -2.287387}, RG_SHAPE(1, 6)));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        rg_realize(v0);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0, 1));
        rg_tensor v3 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        see(v4, RG_F32, RG_SHAPE(1, 6), (double[]){1, 1, 1, 1, 1, 1}, (double[]){2.8e-06, 2.1e-06, 2.1e-06, 2.6e-06,
            1.8e-06, 2.1e-06});
        seen(c);
    }
}

/* 102: forward; sign sign add */
static void p102(rg_ctx *c) {
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

/* 103: grad; permute abs mul mul mul grad */
static void p103(rg_ctx *c) {
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
            (double[]){2.8, 1.4, 0.58, 0.47});
        see(v6, RG_F16, RG_SHAPE(4), (double[]){755.390869141, 350.391601562, 101.25390625, 264.570556641},
            (double[]){24, 11, 6.3, 9.7});
        seen(c);
    }
}

/* 104: grad2; mul grad grad */
static void p104(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){8.90491900047708, -25.41349219457775, -14.699627946771122,
        -13.63128210044383, -10.58331339846739, -8.139613235597484, -14.982092543728543, 27.902235095333545,
        -13.03108843887761, -16.823272685411865, -27.43986878435909, -6.751138027433765, 10.683007253004682,
        -17.83356512396659, -10.849104601808339, -21.923121510070544}, RG_SHAPE(4, 4));
    rg_tensor v1 = rg_from(c, RG_F64, (double[]){-27.30094772543995}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-0.38967516748016084, 1.4738651714554365, 1.4239292712182214,
        -0.6935248368199911, -0.0571782983317104, -0.5628885846819465, -1.400627123930568, -1.8307588659944503,
        1.1320366836586544, 1.8948010906342216, 1.2413307487310665, 0.3535981149271654, 0.5341382954546265,
        -0.40656234062508023, -0.7000758703902608, 1.1641226856488713}, RG_SHAPE(4, 4));
    rg_tensor v6 = rg_from(c, RG_F64, (double[]){-0.7337920549207535}, RG_SHAPE());
    {
        rg_tensor v2 = rg_mul(v0, v1);
        rg_tensor o4[2];
        rg_grad(v2, RG_TENSORS(v0, v1), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0], v5 = o4[1];
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v0, v1), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        see(v7, RG_F64, RG_SHAPE(4, 4), (double[]){0.28594054189685603, -1.0815105528384135, -1.0448679859890297,
            0.50890301514872149, 0.041956981029697665, 0.41304317124520007, 1.0277690554467565, 1.343396310342456,
            -0.83067952434755898, -1.3903899859625704, -0.91087864094768678, -0.2594674873685095,
            -0.39194643743351898, 0.29833221538066895, 0.51371011153410451, -0.85422397768215164}, (double[]){9.7e-15,
            1.6e-14, 1.6e-14, 1.4e-14, 4.8e-15, 1.1e-14, 1.9e-14, 1.6e-14, 1.8e-14, 1.5e-14, 1.7e-14, 5.6e-15,
            8.4e-15, 7.4e-15, 9.3e-15, 8.9e-15});
        see(v8, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        seen(c);
    }
}

/* 105: backward; permute permute sum backward */
static void p105(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){1.693248, 2.3692935, 0.13733111, -1.3496624, 2.655672,
        -1.2179875}, RG_SHAPE(3, 2)));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1, 0));
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(0, 1));
        rg_tensor v3 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        see(v4, RG_F32, RG_SHAPE(3, 2), (double[]){1, 1, 1, 1, 1, 1}, (double[]){2.8e-06, 2.1e-06, 2.1e-06, 2.6e-06,
            1.8e-06, 2.1e-06});
        seen(c);
    }
}

/* 106: assign; relu6 assign_slice */
static void p106(rg_ctx *c) {
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

/* 107: grad2; relu relu relu permute grad grad */
static void p107(rg_ctx *c) {
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

/* 108: backward; floor permute mul sum permute sum backward */
static void p108(rg_ctx *c) {
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

/* 109: jit; mul */
static rg_tensor p109_v1;
static rg_status p109_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p109_v1;
    rg_tensor v0 = in[0];
    rg_tensor v2 = rg_mul(v0, v1);
    out[0] = v2;
    return 0;
}
static void p109(rg_ctx *c) {
    p109_v1 = rg_from(c, RG_F64, (double[]){5.234954532440007}, RG_SHAPE(1, 1));
    rg_jit *jit = rg_jit_new(c, p109_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(5, 0, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(5, 0, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(5, 0, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(5, 0, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(5, 0, 1), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 110: grad; ceil grad */
static void p110(rg_ctx *c) {
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

/* 111: grad2; add sum grad grad */
static void p111(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.05424850418386207}, RG_SHAPE());
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){-1.7270108386703242}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){-0.8119392358104989}, RG_SHAPE());
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        rg_tensor o6[1];
        rg_grad(v4, RG_TENSORS(v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0];
        see(v6, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        seen(c);
    }
}

/* 112: backward; mul sum permute sum backward */
static void p112(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F16, (uint16_t[]){0x4a11, 0x3a26, 0x4c9b}, RG_SHAPE(3, 1)));
    {
        rg_tensor v1 = rg_mul(v0, -1.5);
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0));
        rg_tensor v3 = rg_permute(v2, RG_SHAPE(0));
        rg_tensor v4 = rg_sum(v3);
        rg_zero_grad(c);
        rg_backward(v4);
        rg_tensor v5 = rg_param_grad(v0);
        see(v5, RG_F16, RG_SHAPE(3, 1), (double[]){-1.5, -1.5, -1.5}, (double[]){0.074, 0.11, 0.097});
        seen(c);
    }
}

/* 113: jit; add permute permute permute */
static rg_status p113_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_add(v0, -1.5);
    rg_tensor v2 = rg_permute(v1, RG_SHAPE(0, 1));
    rg_tensor v3 = rg_permute(v2, RG_SHAPE(1, 0));
    rg_tensor v4 = rg_permute(v1, RG_SHAPE(-1, 0));
    out[0] = v3;
    out[1] = v4;
    return 0;
}
static void p113(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p113_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        see(out[1], RG_F16, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        see(out[1], RG_F16, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        see(out[1], RG_F16, RG_SHAPE(3, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 114: forward; trunc permute */
static void p114(rg_ctx *c) {
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

/* 115: assign; add assign_slice realize */
static void p115(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_assign_slice(v1, v2, RG_SLICES((rg_range){.start = 0, .stop = 0, .step = 1}));
        rg_tensor v3 = v1;
        rg_realize(v2);
        see(v3, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 116: grad; isinf mul permute mul grad */
static void p116(rg_ctx *c) {
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

/* 117: grad2; sum permute sum sum mul grad grad */
static void p117(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.2001097, -0.60060734, 1.206806, 2.8903549, -0.47928435, 2.6927247,
        1.714625, -0.13241959, 0.36025545, -0.7326571, -2.365171, 2.086075}, RG_SHAPE(1, 2, 3, 2));
    rg_tensor v6 = rg_from(c, RG_F32, (float[]){-1.3417265}, RG_SHAPE(1));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){1.7747875, -1.6357453, -0.47925845, 0.61522067, -0.4121324, -1.049885,
        -1.6653543, -1.1440762, 0.52049196, -0.5888358, 1.8618082, -1.2185223}, RG_SHAPE(1, 2, 3, 2));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, 1, 2));
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v3 = rg_sum(v0, .axes = RG_SHAPE(0, 1, 2, 3));
        rg_tensor v4 = rg_sum(v2, .keep = true);
        rg_tensor v5 = rg_mul(v4, v3);
        rg_tensor o7[1];
        rg_grad(v5, RG_TENSORS(v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0];
        rg_tensor o9[1];
        rg_grad(v7, RG_TENSORS(v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0];
        see(v9, RG_F32, RG_SHAPE(1, 2, 3, 2), (double[]){9.18143847532, 9.18143847532, 9.18143847532, 9.18143847532,
            9.18143847532, 9.18143847532, 9.18143847532, 9.18143847532, 9.18143847532, 9.18143847532, 9.18143847532,
            9.18143847532}, (double[]){3.4e-05, 3.8e-05, 3.4e-05, 3.4e-05, 3e-05, 3.4e-05, 3.4e-05, 3e-05, 3.4e-05,
            3e-05, 2.6e-05, 3.8e-05});
        seen(c);
    }
}

/* 118: assign; mul */
static void p118(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.5828459, 25.50907, -12.038757, -21.96806, -5.1085696, -8.451296},
        RG_SHAPE(3, 2));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        see(v1, RG_F32, RG_SHAPE(3, 2), (double[]){0.339709373787, 650.712623835, 144.931677911, 482.595639944,
            26.0974835832, 71.4244015892}, (double[]){0.0003, 0.0011, 0.00049, 0.0011, 0.00034, 0.00045});
        seen(c);
    }
}

/* 119: grad; sum permute grad */
static void p119(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4020, 0xbff5, 0xc03f, 0x3fad, 0xbfaa, 0x3f93, 0xbf1f, 0x3f81,
        0xbfd3, 0xbef1, 0x4015, 0x3f85, 0x3f9a, 0xc020, 0xbf9f, 0x3fe5, 0xc023, 0xbf2e, 0x3f81, 0x3f1e, 0x4008,
        0x3f85, 0x3f7c, 0x3ffe}, RG_SHAPE(6, 2, 2));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0xbf23, 0xbfe5, 0xbf40, 0xbfc6, 0xbf54, 0xbf8c, 0x3fd2, 0xbddd,
        0x3fe4, 0x3fdd, 0x3fd6, 0x3f7a, 0xbe1c, 0xbfed, 0x3f9f, 0xbf15, 0xbf2e, 0xbf9d, 0x3e81, 0x3fcf, 0xbf85,
        0x3fc8, 0xbeb9, 0xbdfa}, RG_SHAPE(2, 6, 2));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, 1, 2));
        rg_tensor v2 = rg_permute(v0, RG_SHAPE(1, -3, 2));
        rg_tensor o4[1];
        rg_grad(v2, RG_TENSORS(v0), o4, .seed = v3, .unused_ok = true);
        rg_tensor v4 = o4[0];
        see(v4, RG_BF16, RG_SHAPE(6, 2, 2), (double[]){-0.63671875, -1.7890625, -0.15234375, -1.8515625, -0.75,
            -1.546875, 1.2421875, -0.58203125, -0.828125, -1.09375, -0.6796875, -1.2265625, 1.640625, -0.10791015625,
            0.251953125, 1.6171875, 1.78125, 1.7265625, -1.0390625, 1.5625, 1.671875, 0.9765625, -0.361328125,
            -0.1220703125}, (double[]){0.13, 0.31, 0.093, 0.43, 0.2, 0.19, 0.2, 0.13, 0.17, 0.25, 0.13, 0.31, 0.19,
            0.08, 0.079, 0.37, 0.3, 0.28, 0.14, 0.22, 0.25, 0.21, 0.093, 0.069});
        seen(c);
    }
}

/* 120: grad2; permute mul permute grad grad */
static void p120(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.2007002}, RG_SHAPE(1));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){2.9451323, -0.4865025, -1.5973502, 0.70569235, -1.2689223},
        RG_SHAPE(5, 1));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){-1.0502772, -0.79177153, -1.463152, -1.7913048, -1.5787983},
        RG_SHAPE(5, 1));
    rg_tensor v8 = rg_from(c, RG_F32, (float[]){-0.8398836, -0.10951518, 0.14008658, 1.8308142, 1.6956687},
        RG_SHAPE(5, 1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_mul(2.0, v0);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(0, 1));
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v3, v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        rg_tensor o9[2];
        rg_grad(v6, RG_TENSORS(v3, v0), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F32, RG_SHAPE(5, 1), (double[]){0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07,
            2.5e-07});
        see(v10, RG_F32, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        seen(c);
    }
}

/* 121: loop; mul */
static void p121(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){29.52454535669061}, RG_SHAPE(1));
    rg_tensor v1 = rg_from(c, RG_I8, (int8_t[]){5}, RG_SHAPE(1));
    {
        rg_tensor v2 = rg_mul(v1, v0);
        see(v2, RG_F64, RG_SHAPE(1), (double[]){147.62272678345306}, (double[]){1.6e-12});
        seen(c);
    }
    {
        rg_tensor v2 = rg_mul(v1, v0);
        see(v2, RG_F64, RG_SHAPE(1), (double[]){147.62272678345306}, (double[]){8.7e-13});
        seen(c);
    }
    {
        rg_tensor v2 = rg_mul(v1, v0);
        see(v2, RG_F64, RG_SHAPE(1), (double[]){147.62272678345306}, (double[]){1.6e-12});
        seen(c);
    }
}

/* 122: assign; mul realize assign permute */
static void p122(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I8, (int8_t[]){1, 5, -7, -4}, RG_SHAPE(4, 1));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_realize(v0);
        rg_assign(v1, v1);
        rg_tensor v2 = v1;
        rg_tensor v3 = rg_permute(v0, RG_SHAPE(1, 0));
        see(v2, RG_I8, RG_SHAPE(4, 1), (double[]){1, 25, 49, 16}, NULL);
        see(v3, RG_I8, RG_SHAPE(1, 4), (double[]){1, 5, -7, -4}, NULL);
        seen(c);
    }
}

/* 123: grad; add add isnan sum permute grad */
static void p123(rg_ctx *c) {
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

/* 124: backward; sum permute sum backward */
static void p124(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){2.17980921645448, 1.0017904310287662, 2.4951740552686488,
        -2.184360312128063, -0.6491217960833495}, RG_SHAPE(5, 1)));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        rg_tensor v3 = rg_sum(v2);
        rg_zero_grad(c);
        rg_backward(v3);
        rg_tensor v4 = rg_param_grad(v0);
        see(v4, RG_F64, RG_SHAPE(5, 1), (double[]){1, 1, 1, 1, 1}, (double[]){2.9e-14, 2e-14, 2.4e-14, 2.7e-14,
            2.2e-14});
        see(v3, RG_F64, RG_SHAPE(), (double[]){2.8432915945404824}, (double[]){6.2e-14});
        seen(c);
    }
}

/* 125: assign; permute realize */
static void p125(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.011654093791395592}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_realize(v0);
        see(v1, RG_F64, RG_SHAPE(1), (double[]){0.011654093791395592}, (double[]){1.4e-17});
        seen(c);
    }
}

/* 126: jit; permute */
static rg_status p126_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = in[2];
    rg_tensor v3 = rg_permute(v0, RG_SHAPE(3, 2, 1, 0));
    out[0] = v3;
    return 0;
}
static void p126(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p126_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 1, 0, 3));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(3, 0, 1, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 1, 0, 3));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(3, 0, 1, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 1, 0, 3));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(3, 0, 1, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 127: loop; mul mul */
static void p127(rg_ctx *c) {
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_mul(v1, v0);
        see(v2, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v1, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_mul(v1, v0);
        see(v2, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v1, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_mul(v1, v0);
        see(v2, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v1, RG_F32, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 128: forward; realize round add */
static void p128(rg_ctx *c) {
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

/* 129: assign; permute sum assign assign_slice sum */
static void p129(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(6, 0, 6));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1, 1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(2, -3, -2));
        rg_tensor v2 = rg_sum(v1, .keep = true);
        rg_assign(v0, -2.0);
        rg_tensor v3 = v0;
        rg_assign_slice(v2, v4, RG_SLICES((rg_range){.start = 0, .stop = 0, .step = -1}));
        rg_tensor v5 = v2;
        rg_tensor v6 = rg_sum(v5, .axes = RG_SHAPE(0));
        see(v3, RG_F32, RG_SHAPE(6, 0, 6), (double[]){0}, (double[]){0});
        see(v6, RG_F32, RG_SHAPE(1, 1), (double[]){0}, (double[]){1e-36});
        see(v1, RG_F32, RG_SHAPE(6, 6, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 130: grad; sum grad */
static void p130(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.4292322330908513}, RG_SHAPE(1, 1));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){1.5767671071366034}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
        rg_tensor o3[1];
        rg_grad(v1, RG_TENSORS(v0), o3, .seed = v2, .unused_ok = true);
        rg_tensor v3 = o3[0];
        see(v3, RG_F64, RG_SHAPE(1, 1), (double[]){1.5767671071366034}, (double[]){1.4e-14});
        seen(c);
    }
}

/* 131: grad2; add add grad grad */
static void p131(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){2.7377370228337883}, RG_SHAPE(1));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){1.23188821039723}, RG_SHAPE());
    rg_tensor v4 = rg_from(c, RG_F64, (double[]){0.993329875912464}, RG_SHAPE(1));
    rg_tensor v7 = rg_from(c, RG_F64, (double[]){-0.12798528100309747}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_add(v2, v1);
        rg_tensor o5[2];
        rg_grad(v3, RG_TENSORS(v0, v2), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0], v6 = o5[1];
        rg_tensor o8[2];
        rg_grad(v5, RG_TENSORS(v0, v2), o8, .seed = v7, .unused_ok = true);
        rg_tensor v8 = o8[0], v9 = o8[1];
        see(v8, RG_F64, RG_SHAPE(1), (double[]){0}, (double[]){4.7e-16});
        see(v9, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        seen(c);
    }
}

/* 132: backward; permute add mul sum backward */
static void p132(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){-1.9052712, -1.2487841, -2.2759943}, RG_SHAPE(3)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){1.0313945}, RG_SHAPE(1)));
    rg_tensor v4 = rg_param(rg_from(c, RG_F32, (float[]){6.1409183}, RG_SHAPE()));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v3 = rg_add(0.25, v2);
        rg_tensor v5 = rg_mul(v4, v0);
        rg_tensor v6 = rg_sum(v5);
        rg_zero_grad(c);
        rg_backward(v6);
        rg_tensor v7 = rg_param_grad(v0);
        rg_tensor v8 = rg_param_grad(v4);
        see(v7, RG_F32, RG_SHAPE(3), (double[]){6.14091825485, 6.14091825485, 6.14091825485}, (double[]){2.1e-05,
            2.1e-05, 1.9e-05});
        see(v8, RG_F32, RG_SHAPE(), (double[]){-5.43004953861}, (double[]){9.5e-06});
        seen(c);
    }
}

/* 133: assign; add logical_not permute */
static void p133(rg_ctx *c) {
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

/* 134: grad; permute add sum sum grad */
static void p134(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.9076942475402268, -2.2290892609599116, -2.133363686630622,
        2.7622355326142927}, RG_SHAPE(4));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){-1.4948100562119524, -2.841287837761599, 1.682103624452803,
        -2.764974537637591}, RG_SHAPE(4));
    rg_tensor v3 = rg_from(c, RG_F64, (double[]){2.0541930694544313}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){2.4640293279473546, -0.9333066058216186, -0.9177248000070346,
        -0.6279734893821436}, RG_SHAPE(4));
    rg_tensor v8 = rg_from(c, RG_F64, (double[]){1.527391435127738}, RG_SHAPE());
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v4 = rg_add(v2, v3);
        rg_tensor v6 = rg_sum(v5, .keep = true);
        rg_tensor v7 = rg_sum(v6);
        rg_tensor o9[2];
        rg_grad(v7, RG_TENSORS(v3, v5), o9, .seed = v8, .unused_ok = true);
        rg_tensor v9 = o9[0], v10 = o9[1];
        see(v9, RG_F64, RG_SHAPE(), (double[]){0}, (double[]){4.7e-16});
        see(v10, RG_F64, RG_SHAPE(4), (double[]){1.527391435127738, 1.527391435127738, 1.527391435127738,
            1.527391435127738}, (double[]){3.5e-14, 3.5e-14, 3.5e-14, 3.5e-14});
        seen(c);
    }
}

/* 135: backward; mul sum backward */
static void p135(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F64, (double[]){21.222546616938978, -18.12820299451638}, RG_SHAPE(2, 1)));
    {
        rg_tensor v1 = rg_mul(v0, 2);
        rg_tensor v2 = rg_sum(v1);
        rg_zero_grad(c);
        rg_backward(v2);
        rg_tensor v3 = rg_param_grad(v0);
        see(v3, RG_F64, RG_SHAPE(2, 1), (double[]){2, 2}, (double[]){2.4e-14, 2.4e-14});
        seen(c);
    }
}

/* 136: assign; add */
static void p136(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(0, 1, 2));
    rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1}, RG_SHAPE());
    {
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_BF16, RG_SHAPE(0, 1, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 137: grad; mul add grad */
static void p137(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x413c, 0xc0f8, 0xc0cb, 0xc1bb}, RG_SHAPE(4));
    rg_tensor v2 = rg_from(c, RG_F64, (double[]){2.294117865269266, 0.2573125767293618}, RG_SHAPE(2));
    rg_tensor v3 = rg_from(c, RG_F16, (uint16_t[]){0xb83b}, RG_SHAPE());
    rg_tensor v5 = rg_from(c, RG_F64, (double[]){1.5634582140788646, -0.8132620970563762}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_mul(2.0, v0);
        rg_tensor v4 = rg_add(v3, v2);
        rg_tensor o6[2];
        rg_grad(v4, RG_TENSORS(v2, v0), o6, .seed = v5, .unused_ok = true);
        rg_tensor v6 = o6[0], v7 = o6[1];
        see(v6, RG_F64, RG_SHAPE(2), (double[]){1.5634582140788646, -0.8132620970563762}, (double[]){2.7e-06,
            1.4e-06});
        see(v7, RG_BF16, RG_SHAPE(4), (double[]){0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 138: grad; sum sum sum isfinite leaky_relu grad */
static void p138(rg_ctx *c) {
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

/* 139: forward; mul mul bitwise_not permute add */
static void p139(rg_ctx *c) {
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

/* 140: forward; celu */
static void p140(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){6.226263}, RG_SHAPE());
    {
        rg_tensor v1 = rg_celu(v0, 1.0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){6.22626304626}, (double[]){9.1e-06});
        seen(c);
    }
}

/* 141: assign; add add */
static void p141(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x3fa0}, RG_SHAPE());
    rg_tensor v2 = rg_from(c, RG_U32, (uint32_t[]){1}, RG_SHAPE());
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_add(v2, v1);
        see(v3, RG_BF16, RG_SHAPE(), (double[]){3.5}, (double[]){0.25});
        seen(c);
    }
}

/* 142: grad2; sum mul permute add grad grad */
static void p142(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbf73, 0x4004, 0x3f44}, RG_SHAPE(1, 3, 1));
    rg_tensor v3 = rg_from(c, RG_BF16, (uint16_t[]){0xbfc5}, RG_SHAPE(1));
    rg_tensor v6 = rg_from(c, RG_BF16, (uint16_t[]){0xbee9}, RG_SHAPE(1));
    rg_tensor v9 = rg_from(c, RG_BF16, (uint16_t[]){0xbff1}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, 1, -1), .keep = true);
        rg_tensor v2 = rg_mul(v1, v1);
        rg_tensor v4 = rg_permute(v3, RG_SHAPE(0));
        rg_tensor v5 = rg_add(v3, v4);
        rg_tensor o7[2];
        rg_grad(v5, RG_TENSORS(v3, v0), o7, .seed = v6, .unused_ok = true);
        rg_tensor v7 = o7[0], v8 = o7[1];
        rg_tensor o10[2];
        rg_grad(v7, RG_TENSORS(v3, v0), o10, .seed = v9, .unused_ok = true);
        rg_tensor v10 = o10[0], v11 = o10[1];
        see(v10, RG_BF16, RG_SHAPE(1), (double[]){0}, (double[]){2.5e-07});
        see(v11, RG_BF16, RG_SHAPE(1, 3, 1), (double[]){0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07});
        see(v7, RG_BF16, RG_SHAPE(1), (double[]){-0.91015625}, (double[]){0.34});
        see(v8, RG_BF16, RG_SHAPE(1, 3, 1), (double[]){0, 0, 0}, (double[]){2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 143: backward; glu permute add hardtanh sum backward */
static void p143(rg_ctx *c) {
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

/* 144: forward; detach sum realize_all */
static void p144(rg_ctx *c) {
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

/* 145: assign; mul contiguous assign assign_slice assign */
static void p145(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(1, 4, 0));
    rg_tensor v3 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(1, 1, 0));
    rg_tensor v5 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v2 = rg_contiguous(v1);
        rg_assign(v0, v3);
        rg_tensor v4 = v0;
        rg_assign_slice(v1, v5, RG_SLICES((rg_range){.start = 0, .stop = 1, .step = 1}, (rg_range){.start = -1, .stop
            = 4, .step = -2}, (rg_range){.start = -1, .stop = 1, .step = 3}));
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

/* 146: backward; elu sub sub sum backward */
static void p146(rg_ctx *c) {
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

/* 147: jit; mod mul div permute */
static rg_tensor p147_v2, p147_v4;
static rg_status p147_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p147_v2;
    rg_tensor v4 = p147_v4;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v3 = rg_mod(v1, v2);
    rg_tensor v5 = rg_mul(v3, v4);
    rg_tensor v6 = rg_div(v5, 0.5);
    rg_tensor v7 = rg_permute(v6, RG_SHAPE(-2, 1));
    out[0] = v7;
    return 0;
}
static void p147(rg_ctx *c) {
    p147_v2 = rg_from(c, RG_F32, (float[]){24.347229, 22.101732, 22.848503, 18.05284}, RG_SHAPE(4, 1));
    p147_v4 = rg_from(c, RG_U16, (uint16_t[]){8}, RG_SHAPE(1));
    rg_jit *jit = rg_jit_new(c, p147_body, NULL, 1);
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

/* 148: forward; floordiv floordiv */
static void p148(rg_ctx *c) {
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

/* 149: grad2; mul permute sum sum fmod grad grad */
static void p149(rg_ctx *c) {
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

/* 150: jit; sum pow */
static rg_tensor p150_v3, p150_v4;
static rg_status p150_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v3 = p150_v3;
    rg_tensor v4 = p150_v4;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0, 2), .keep = true);
    rg_tensor v5 = rg_pow(v3, v4);
    out[0] = v2;
    out[1] = v5;
    return 0;
}
static void p150(rg_ctx *c) {
    p150_v3 = rg_scalar(c, RG_U64, 8.0);
    p150_v4 = rg_from(c, RG_U64, (uint64_t[]){3}, RG_SHAPE());
    rg_jit *jit = rg_jit_new(c, p150_body, NULL, 2);
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
        rg_set_scalar(p150_v3, 5.0);
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){125}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.75, 1.5, -2.0, 0.75}, RG_SHAPE(4));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 4));
        rg_set_scalar(p150_v3, 4.0);
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){64}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.981114, -1.5245761, -2.4345982, 1.8014945}, RG_SHAPE(4));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 4, 4));
        rg_set_scalar(p150_v3, 3.0);
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 4, 1), (double[]){0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36});
        see(out[1], RG_U64, RG_SHAPE(), (double[]){27}, NULL);
        seen(c);
    }
    rg_jit_free(jit);
}

/* 151: loop; permute add maximum */
static void p151(rg_ctx *c) {
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

/* 152: grad2; minimum permute mul grad grad */
static void p152(rg_ctx *c) {
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

/* 153: forward; mul ne */
static void p153(rg_ctx *c) {
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

/* 154: forward; le realize_all le */
static void p154(rg_ctx *c) {
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

/* 155: grad2; mul grad grad */
static void p155(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){17.040722, -11.938679, 27.000954, -8.971993, 12.211066, 17.224863,
        -16.482723, -0.35586733, 2.923166, 22.70842}, RG_SHAPE(2, 1, 1, 5));
    rg_tensor v2 = rg_from(c, RG_F32, (float[]){1.753486, -1.9285215, -0.56637406, -0.028260767, -1.6650213,
        0.7831954, -1.3886595, -1.0725241, -1.4898592, 1.9597405}, RG_SHAPE(2, 1, 1, 5));
    rg_tensor v4 = rg_from(c, RG_F32, (float[]){1.3215685, 1.61436, -1.2311414, 0.16584986, -0.39883804, -0.06984188,
        1.8840318, -0.9796797, 0.3358852, 0.5575831}, RG_SHAPE(2, 1, 1, 5));
    {
        rg_tensor v1 = rg_mul(v0, 3);
        rg_tensor o3[1];
        rg_grad(v1, RG_TENSORS(v0), o3, .seed = v2, .unused_ok = true);
        rg_tensor v3 = o3[0];
        rg_tensor o5[1];
        rg_grad(v3, RG_TENSORS(v0), o5, .seed = v4, .unused_ok = true);
        rg_tensor v5 = o5[0];
        see(v5, RG_F32, RG_SHAPE(2, 1, 1, 5), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        seen(c);
    }
}

/* 156: backward; sum eq sum backward */
static void p156(rg_ctx *c) {
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

/* 157: forward; sum lt mul add sum */
static void p157(rg_ctx *c) {
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

/* 158: forward; logical_and */
static void p158(rg_ctx *c) {
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

/* 159: assign; gt realize */
static void p159(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(3, 0, 1));
    rg_tensor v1 = rg_scalar(c, RG_F64, 3.461431909432168);
    {
        rg_tensor v2 = rg_gt(v1, v0);
        rg_realize(v0);
        see(v2, RG_BOOL, RG_SHAPE(3, 0, 1), (double[]){0}, NULL);
        seen(c);
    }
}

/* 160: grad2; add sum mul logical_or grad grad */
static void p160(rg_ctx *c) {
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

/* 161: backward; ge mul sum permute mul sum backward */
static void p161(rg_ctx *c) {
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
        see(v9, RG_BF16, RG_SHAPE(2), (double[]){4, 4}, (double[]){1.2, 2.2});
        see(v8, RG_BF16, RG_SHAPE(), (double[]){92}, (double[]){26});
        seen(c);
    }
}

/* 162: grad; mul bitwise_or add add grad */
static void p162(rg_ctx *c) {
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

/* 163: grad2; permute add permute add logical_xor grad grad */
static void p163(rg_ctx *c) {
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

/* 164: forward; sum bitwise_and sum sum */
static void p164(rg_ctx *c) {
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

/* 165: assign; bitwise_xor */
static void p165(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U16, (uint16_t[]){0}, RG_SHAPE(7, 0, 7, 5));
    {
        rg_tensor v1 = rg_bitwise_xor(v0, v0);
        see(v1, RG_U16, RG_SHAPE(7, 0, 7, 5), (double[]){0}, NULL);
        seen(c);
    }
}

/* 166: loop; permute */
static void p166(rg_ctx *c) {
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 6));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        see(v1, RG_F32, RG_SHAPE(6, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 6));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        see(v1, RG_F32, RG_SHAPE(6, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 6));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        see(v1, RG_F32, RG_SHAPE(6, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 167: forward; sum add copysign */
static void p167(rg_ctx *c) {
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

/* 168: backward; logaddexp logaddexp backward */
static void p168(rg_ctx *c) {
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

/* 169: forward; shl mul sum add sum */
static void p169(rg_ctx *c) {
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

/* 170: forward; permute clamp where sum */
static void p170(rg_ctx *c) {
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

/* 171: assign; lerp sum permute assign_slice realize */
static void p171(rg_ctx *c) {
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

/* 172: grad; masked_fill grad */
static void p172(rg_ctx *c) {
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

/* 173: loop; permute sum add permute mul */
static void p173(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){0.03915394528678107, 1.2314108960068006, 2.433253914349896,
        0.30418890437972035}, RG_SHAPE(4, 1));
    {
        rg_tensor v2 = rg_from(c, RG_F64, (double[]){0.5, 1.25, -2.5, -1.5, -1.25}, RG_SHAPE(5, 1));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v4 = rg_add(v3, v3);
        rg_tensor v5 = rg_permute(v1, RG_SHAPE(1, 0));
        rg_tensor v6 = rg_mul(v5, v5);
        see(v4, RG_F64, RG_SHAPE(), (double[]){-7}, (double[]){5.1e-14});
        see(v6, RG_F64, RG_SHAPE(4, 1), (double[]){0.0015330314315202453, 1.5163727948042716, 5.9207246116990904,
            0.092530889547734654}, (double[]){1.1e-14, 2.2e-14, 6.5e-14, 1.1e-14});
        seen(c);
    }
    {
        rg_tensor v2 = rg_from(c, RG_F64, (double[]){-0.017977747182402748, 1.4880694237359942, 2.300561945273616,
            0.2724834476864615, 2.5166055848686435}, RG_SHAPE(5, 1));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v4 = rg_add(v3, v3);
        rg_tensor v5 = rg_permute(v1, RG_SHAPE(1, 0));
        rg_tensor v6 = rg_mul(v5, v5);
        see(v4, RG_F64, RG_SHAPE(), (double[]){13.119485308764624}, (double[]){1.7e-13});
        see(v6, RG_F64, RG_SHAPE(4, 1), (double[]){0.0015330314315202453, 1.5163727948042716, 5.9207246116990904,
            0.092530889547734654}, (double[]){6.6e-15, 1.5e-14, 3.2e-14, 7.1e-15});
        seen(c);
    }
    {
        rg_tensor v2 = rg_from(c, RG_F64, (double[]){-2.7202025570374713, -2.148623780452669, 2.899667647902838,
            0.309606807683259, 1.8624628261927807}, RG_SHAPE(5, 1));
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(1, 0));
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v4 = rg_add(v3, v3);
        rg_tensor v5 = rg_permute(v1, RG_SHAPE(1, 0));
        rg_tensor v6 = rg_mul(v5, v5);
        see(v4, RG_F64, RG_SHAPE(), (double[]){0.40582188857747514}, (double[]){5.2e-14});
        see(v6, RG_F64, RG_SHAPE(4, 1), (double[]){0.0015330314315202453, 1.5163727948042716, 5.9207246116990904,
            0.092530889547734654}, (double[]){1.4e-14, 3.3e-14, 8.4e-14, 1.4e-14});
        seen(c);
    }
}

/* 174: assign; sum mul reshape */
static void p174(rg_ctx *c) {
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

/* 175: forward; transpose add add mul */
static void p175(rg_ctx *c) {
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

/* 176: grad; expand sum grad */
static void p176(rg_ctx *c) {
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

/* 177: forward; add sum slice add permute */
static void p177(rg_ctx *c) {
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

/* 178: grad; mul narrow sum grad */
static void p178(rg_ctx *c) {
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

/* 179: backward; add sum select sum backward */
static void p179(rg_ctx *c) {
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

/* 180: grad2; sum permute isclose permute add grad grad */
static void p180(rg_ctx *c) {
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

/* 181: jit; sum add */
static rg_tensor p181_v2;
static rg_status p181_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p181_v2;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_sum(v0, .keep = true);
    rg_tensor v3 = rg_add(0.5, v2);
    out[0] = v1;
    out[1] = v3;
    return 0;
}
static void p181(rg_ctx *c) {
    p181_v2 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(0));
    rg_jit *jit = rg_jit_new(c, p181_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_I8, (int8_t[]){-5, 10, -6}, RG_SHAPE(3));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(1), (double[]){-1}, NULL);
        see(out[1], RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I8, (int8_t[]){-7, 5, 4}, RG_SHAPE(3));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(1), (double[]){2}, NULL);
        see(out[1], RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I8, (int8_t[]){-1, 7, 11}, RG_SHAPE(3));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I64, RG_SHAPE(1), (double[]){17}, NULL);
        see(out[1], RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 182: loop; squeeze flip permute */
static void p182(rg_ctx *c) {
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

/* 183: forward; mul unsqueeze shr realize flatten */
static void p183(rg_ctx *c) {
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

/* 184: assign; mul pad assign_slice mul */
static void p184(rg_ctx *c) {
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

/* 185: backward; pad_with permute sum backward */
static void p185(rg_ctx *c) {
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

/* 186: assign; sum stack */
static void p186(rg_ctx *c) {
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

/* 187: grad2; mul permute add cat grad grad */
static void p187(rg_ctx *c) {
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

/* 188: backward; sum unfold mul realize mul sum backward */
static void p188(rg_ctx *c) {
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

/* 189: forward; sum repeat mul */
static void p189(rg_ctx *c) {
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

/* 190: assign; roll sum roll realize_all mul */
static void p190(rg_ctx *c) {
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

/* 191: loop; add permute add repeat_interleave assign_slice */
static void p191(rg_ctx *c) {
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
        rg_assign_slice(v3, v7, RG_SLICES((rg_range){.start = 2, .stop = RG_END, .step = -2}));
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
        rg_assign_slice(v3, v7, RG_SLICES((rg_range){.start = 2, .stop = RG_END, .step = -2}));
        rg_tensor v8 = v3;
        see(v2, RG_F32, RG_SHAPE(5, 1), (double[]){1.5, 3, 4, 3, 1.5}, (double[]){4.1e-06, 5e-06, 7.2e-06, 6e-06,
            4.1e-06});
        see(v5, RG_F32, RG_SHAPE(0, 5, 1), (double[]){0}, (double[]){0});
        see(v6, RG_F32, RG_SHAPE(0, 5, 1), (double[]){0}, (double[]){0});
        see(v8, RG_F32, RG_SHAPE(5, 1, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 192: forward; tril */
static void p192(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xb9ce, 0x39cb, 0x40f0, 0x4017, 0x4080, 0xbc5f, 0x3748, 0xbf18,
        0xbc62, 0xbbce, 0xbbd8, 0x4057}, RG_SHAPE(1, 3, 4));
    {
        rg_tensor v1 = rg_tril(v0, -3);
        see(v1, RG_F16, RG_SHAPE(1, 3, 4), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, (double[]){6.3e-08,
            6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08, 6.3e-08});
        seen(c);
    }
}

/* 193: forward; permute triu */
static void p193(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE(0, 2, 2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, -2, 2));
        rg_tensor v2 = rg_triu(v0, 2);
        see(v1, RG_I64, RG_SHAPE(0, 2, 2), (double[]){0}, NULL);
        see(v2, RG_I64, RG_SHAPE(0, 2, 2), (double[]){0}, NULL);
        seen(c);
    }
}

/* 194: assign; sum sum diag */
static void p194(rg_ctx *c) {
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

/* 195: grad; add diagonal add add grad */
static void p195(rg_ctx *c) {
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

/* 196: backward; chunk sum backward */
static void p196(rg_ctx *c) {
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

/* 197: forward; mul sum permute sum meshgrid */
static void p197(rg_ctx *c) {
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

/* 198: assign; unflatten */
static void p198(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.7135905, 2.0710435, 0.3883407, 1.0125228, 1.9970138, -1.197972},
        RG_SHAPE(3, 2));
    {
        rg_tensor v1 = rg_unflatten(v0, -2, RG_SHAPE(1, 1, 3));
        see(v1, RG_F32, RG_SHAPE(1, 1, 3, 2), (double[]){-0.713590502739, 2.07104349136, 0.388340711594,
            1.01252281666, 1.9970138073, -1.19797205925}, (double[]){7e-07, 1e-06, 6.2e-07, 7.7e-07, 1e-06, 8.2e-07});
        seen(c);
    }
}

/* 199: grad2; sum add cast grad grad */
static void p199(rg_ctx *c) {
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

/* 200: loop; mul */
static void p200(rg_ctx *c) {
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-11.128983, 7.9338593, 29.342804, 9.074146, -3.301743, 27.370825},
            RG_SHAPE(1, 1, 1, 6));
        rg_tensor v1 = rg_mul(v0, v0);
        see(v1, RG_F32, RG_SHAPE(1, 1, 1, 6), (double[]){123.854252463, 62.9461241586, 861.000143946, 82.340130543,
            10.9015070398, 749.16205099}, (double[]){0.00059, 0.00052, 0.0015, 0.00061, 0.00046, 0.0022});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){25.904783, -6.2633233, -0.18274012, 15.166919, -8.745945,
            6.078722}, RG_SHAPE(1, 1, 1, 6));
        rg_tensor v1 = rg_mul(v0, v0);
        see(v1, RG_F32, RG_SHAPE(1, 1, 1, 6), (double[]){671.057795173, 39.2292188485, 0.0333939522178, 230.035424508,
            76.4915535373, 36.9508611548}, (double[]){0.0012, 0.00031, 0.00027, 0.00067, 0.00032, 0.0003});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-5.067236, -7.996104, 8.878968, 12.676442, 17.72309, 20.32534},
            RG_SHAPE(1, 1, 1, 6));
        rg_tensor v1 = rg_mul(v0, v0);
        see(v1, RG_F32, RG_SHAPE(1, 1, 1, 6), (double[]){25.6768801391, 63.9376753979, 78.8360769862, 160.692185489,
            314.107891434, 413.119457132}, (double[]){0.00018, 0.00022, 0.00026, 0.00033, 0.00058, 0.00048});
        seen(c);
    }
}

/* 201: assign; split permute realize_all assign_slice */
static void p201(rg_ctx *c) {
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

/* 202: grad; bitcast mul add mul permute grad */
static void p202(rg_ctx *c) {
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

/* 203: jit; add permute full */
static rg_tensor p203_v1;
static rg_status p203_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p203_v1;
    rg_tensor v0 = in[0];
    rg_tensor v2 = rg_add(v1, v0);
    rg_tensor v3 = rg_permute(v1, RG_SHAPE(1, 2, 0));
    rg_tensor v4 = rg_full(c, RG_F8E5M2, 0.0, RG_SHAPE(3, 0));
    out[0] = v2;
    out[1] = v3;
    out[2] = v4;
    return 0;
}
static void p203(rg_ctx *c) {
    p203_v1 = rg_from(c, RG_F64, (double[]){-1.9328139232352783, -1.2647859671335404}, RG_SHAPE(2, 1, 1));
    rg_jit *jit = rg_jit_new(c, p203_body, NULL, 3);
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

/* 204: loop; add mul sum number */
static void p204(rg_ctx *c) {
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

/* 205: forward; integer mul permute permute mul */
static void p205(rg_ctx *c) {
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

/* 206: forward; zeros */
static void p206(rg_ctx *c) {
    {
        rg_tensor v0 = rg_zeros(c, RG_F8E4M3, RG_SHAPE(2));
        see(v0, RG_F8E4M3, RG_SHAPE(2), (double[]){0, 0}, (double[]){0.0021, 0.0021});
        seen(c);
    }
}

/* 207: assign; sum arange */
static void p207(rg_ctx *c) {
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

/* 208: grad2; ones add mul permute grad grad */
static void p208(rg_ctx *c) {
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

/* 209: jit; mul */
static rg_tensor p209_v2;
static rg_status p209_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p209_v2;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v3 = rg_mul(v2, v1);
    out[0] = v3;
    return 0;
}
static void p209(rg_ctx *c) {
    p209_v2 = rg_from(c, RG_F32, (float[]){-10.937611}, RG_SHAPE());
    rg_jit *jit = rg_jit_new(c, p209_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xc01f, 0x3e8c, 0x3fb1, 0x4029}, RG_SHAPE(1, 4));
        rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0xc015}, RG_SHAPE(1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){25.4641247392}, (double[]){4.9e-05});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0xbd17, 0x3f87, 0xbe3a, 0xbfac}, RG_SHAPE(1, 4));
        rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0x3fa0}, RG_SHAPE(1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){-13.6720132828}, (double[]){3.1e-05});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x3f99, 0x3e8b, 0xc031, 0xc026}, RG_SHAPE(1, 4));
        rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0x3fcd}, RG_SHAPE(1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1), (double[]){-17.5172670186}, (double[]){3.1e-05});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 210: assign; mul add mul full_like assign_slice */
static void p210(rg_ctx *c) {
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

/* 211: forward; permute add sum eye */
static void p211(rg_ctx *c) {
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

/* 212: forward; zeros_like mul */
static void p212(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.25, 1.75, 2.5, 1.75, 2.75, 1.5, -2.5}, RG_SHAPE(1, 7));
    {
        rg_tensor v1 = rg_zeros_like(v0);
        rg_tensor v2 = rg_mul(v1, v1);
        see(v2, RG_F32, RG_SHAPE(1, 7), (double[]){0, 0, 0, 0, 0, 0, 0}, (double[]){1e-36, 1e-36, 1e-36, 1e-36, 1e-36,
            1e-36, 1e-36});
        seen(c);
    }
}

/* 213: jit; mul assign_slice mul */
static rg_tensor p213_v0, p213_v1, p213_v4;
static rg_status p213_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = p213_v0;
    rg_tensor v1 = p213_v1;
    rg_tensor v4 = p213_v4;
    rg_tensor v2 = rg_mul(v1, v1);
    rg_assign_slice(v1, 0.5, RG_SLICES());
    rg_tensor v3 = v1;
    rg_tensor v5 = rg_mul(v4, v3);
    out[0] = v2;
    out[1] = v5;
    return 0;
}
static void p213(rg_ctx *c) {
    p213_v0 = rg_scalar(c, RG_F32, 0.16741442680358887);
    p213_v1 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(0, 5, 1, 0));
    p213_v4 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(1, 0));
    rg_jit *jit = rg_jit_new(c, p213_body, NULL, 2);
    {
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_ARRAY(NULL, 0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(0, 5, 1, 0), (double[]){0}, (double[]){0});
        see(out[1], RG_BF16, RG_SHAPE(0, 5, 1, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_set_scalar(p213_v0, 5.137668132781982);
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_ARRAY(NULL, 0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(0, 5, 1, 0), (double[]){0}, (double[]){0});
        see(out[1], RG_BF16, RG_SHAPE(0, 5, 1, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_set_scalar(p213_v0, 5.264164447784424);
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_ARRAY(NULL, 0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(0, 5, 1, 0), (double[]){0}, (double[]){0});
        see(out[1], RG_BF16, RG_SHAPE(0, 5, 1, 0), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 214: loop; prod sum assign mul */
static void p214(rg_ctx *c) {
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

/* 215: jit; add */
static rg_tensor p215_v1, p215_v2;
static rg_status p215_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p215_v1;
    rg_tensor v2 = p215_v2;
    rg_tensor v0 = in[0];
    rg_tensor v3 = rg_add(v2, v1);
    out[0] = v3;
    return 0;
}
static void p215(rg_ctx *c) {
    p215_v1 = rg_from(c, RG_BF16, (uint16_t[]){0xbfb0, 0xbf58, 0x3f07, 0xbfee}, RG_SHAPE(4));
    p215_v2 = rg_scalar(c, RG_BF16, 3.578125);
    rg_jit *jit = rg_jit_new(c, p215_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(4), (double[]){2.203125, 2.734375, 4.10546875, 1.71875}, (double[]){0.13, 0.17,
            0.38, 0.17});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(4), (double[]){2.203125, 2.734375, 4.10546875, 1.71875}, (double[]){0.22, 0.27,
            0.25, 0.2});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(4), (double[]){2.203125, 2.734375, 4.10546875, 1.71875}, (double[]){0.2, 0.23,
            0.21, 0.13});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 3));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_BF16, RG_SHAPE(4), (double[]){2.203125, 2.734375, 4.10546875, 1.71875}, (double[]){0.17, 0.29,
            0.34, 0.21});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 216: forward; add realize_all max */
static void p216(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.25}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_realize_all(RG_TENSORS(v1, v1));
        rg_tensor v2 = rg_max(v1, .axes = RG_SHAPE(0));
        see(v2, RG_F64, RG_SHAPE(), (double[]){-4.5}, (double[]){4.9e-14});
        seen(c);
    }
}

/* 217: assign; linspace assign_slice mul sum mul */
static void p217(rg_ctx *c) {
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

/* 218: backward; realize min mul sum backward */
static void p218(rg_ctx *c) {
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

/* 219: forward; mean ones_like */
static void p219(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_U8, (uint8_t[]){4, 5, 10, 0, 1, 12, 0}, RG_SHAPE(7));
    {
        rg_tensor v1 = rg_mean(v0, .axes = RG_SHAPE(-1));
        rg_tensor v2 = rg_ones_like(v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){4.57142857143}, (double[]){7e-06});
        see(v2, RG_U8, RG_SHAPE(7), (double[]){1, 1, 1, 1, 1, 1, 1}, NULL);
        seen(c);
    }
}

/* 220: assign; any sum assign_slice */
static void p220(rg_ctx *c) {
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

/* 221: grad2; permute var var permute var grad grad */
static void p221(rg_ctx *c) {
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

/* 222: jit; mul sum */
static rg_status p222_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = rg_mul(v1, v1);
    rg_tensor v3 = rg_sum(v2, .axes = RG_SHAPE(-1), .keep = true);
    out[0] = v3;
    return 0;
}
static void p222(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p222_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){6, 6, 11, 4, 7, 1}, RG_SHAPE(6));
        rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){0, 0, 0, 1, 0, 1}, RG_SHAPE(6, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_I64, RG_SHAPE(6, 1), (double[]){0, 0, 0, 1, 0, 1}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){6, 0, 3, 9, 6, 12}, RG_SHAPE(6));
        rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1, 0, 1, 0, 0, 0}, RG_SHAPE(6, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_I64, RG_SHAPE(6, 1), (double[]){1, 0, 1, 0, 0, 0}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){11, 11, 10, 5, 10, 4}, RG_SHAPE(6));
        rg_tensor v1 = rg_from(c, RG_BOOL, (bool[]){1, 1, 0, 0, 0, 1}, RG_SHAPE(6, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_I64, RG_SHAPE(6, 1), (double[]){1, 1, 0, 0, 0, 1}, NULL);
        seen(c);
    }
    rg_jit_free(jit);
}

/* 223: loop; add sum add */
static void p223(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0}, RG_SHAPE(0));
    rg_tensor v2 = rg_from(c, RG_U16, (uint16_t[]){1, 4, 7, 1, 12, 2, 10, 1, 1, 10, 12, 6, 4, 1, 3, 9, 9, 8, 8, 3, 8,
        9, 8, 5, 5, 0, 7, 2, 7, 3, 4, 0, 3, 2, 12}, RG_SHAPE(5, 7));
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v4 = rg_add(v3, v3);
        see(v1, RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v3, RG_I64, RG_SHAPE(), (double[]){187}, NULL);
        see(v4, RG_I64, RG_SHAPE(), (double[]){374}, NULL);
        seen(c);
    }
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v4 = rg_add(v3, v3);
        see(v1, RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v3, RG_I64, RG_SHAPE(), (double[]){187}, NULL);
        see(v4, RG_I64, RG_SHAPE(), (double[]){374}, NULL);
        seen(c);
    }
    {
        rg_tensor v1 = rg_add(v0, v0);
        rg_tensor v3 = rg_sum(v2);
        rg_tensor v4 = rg_add(v3, v3);
        see(v1, RG_BF16, RG_SHAPE(0), (double[]){0}, (double[]){0});
        see(v3, RG_I64, RG_SHAPE(), (double[]){187}, NULL);
        see(v4, RG_I64, RG_SHAPE(), (double[]){374}, NULL);
        seen(c);
    }
}

/* 224: backward; all permute add sum sum backward */
static void p224(rg_ctx *c) {
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

/* 225: forward; std permute */
static void p225(rg_ctx *c) {
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

/* 226: grad; sum permute mul argmax sum grad */
static void p226(rg_ctx *c) {
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
            0.180908203125}, (double[]){0.11, 0.19, 0.33, 0.09, 0.09});
        seen(c);
    }
}

/* 227: grad2; cumsum grad grad */
static void p227(rg_ctx *c) {
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

/* 228: assign; logsumexp mul */
static void p228(rg_ctx *c) {
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

/* 229: grad2; mul mul cummax cummax grad grad */
static void p229(rg_ctx *c) {
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

/* 230: backward; cumprod add sum sum add sum backward */
static void p230(rg_ctx *c) {
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

/* 231: assign; logcumsumexp permute assign_slice */
static void p231(rg_ctx *c) {
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

/* 232: forward; sum cummin sum add */
static void p232(rg_ctx *c) {
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

/* 233: forward; sum softmax mul norm sum */
static void p233(rg_ctx *c) {
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

/* 234: backward; add permute add log_softmax sum backward */
static void p234(rg_ctx *c) {
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

/* 235: forward; argsort permute */
static void p235(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x4018, 0xbd1b}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_argsort(v0, -1, .descending = true);
        rg_tensor v2 = rg_permute(v1, RG_SHAPE(0));
        see(v2, RG_I64, RG_SHAPE(2), (double[]){0, 1}, NULL);
        seen(c);
    }
}

/* 236: forward; sum sort sum */
static void p236(rg_ctx *c) {
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

/* 237: assign; add sum permute argmin */
static void p237(rg_ctx *c) {
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

/* 238: grad; permute sum mul topk_index add grad */
static void p238(rg_ctx *c) {
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

/* 239: backward; matmul mul sum backward */
static void p239(rg_ctx *c) {
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

/* 240: assign; realize set_scalar */
static void p240(rg_ctx *c) {
    rg_tensor v0 = rg_scalar(c, RG_F64, 1.2915156392041593);
    {
        rg_realize(v0);
        rg_set_scalar(v0, 2.0);
        rg_tensor v1 = v0;
        see(v1, RG_F64, RG_SHAPE(), (double[]){2}, (double[]){1.9e-15});
        seen(c);
    }
}

/* 241: grad2; topk sum add add grad grad */
static void p241(rg_ctx *c) {
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

/* 242: backward; realize permute mul outer mul sum backward */
static void p242(rg_ctx *c) {
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

/* 243: backward; dot permute realize backward */
static void p243(rg_ctx *c) {
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

/* 244: grad; permute einsum linear sum grad */
static void p244(rg_ctx *c) {
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

/* 245: forward; mul take sum mul */
static void p245(rg_ctx *c) {
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

/* 246: backward; mul scatter_add sum gather sum backward */
static void p246(rg_ctx *c) {
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
        see(v11, RG_BF16, RG_SHAPE(1, 2), (double[]){1, 1}, (double[]){0.27, 0.32});
        seen(c);
    }
}

/* 247: assign; scatter_reduce permute permute sum */
static void p247(rg_ctx *c) {
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

/* 248: forward; embedding scatter permute mul scatter */
static void p248(rg_ctx *c) {
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

/* 249: backward; add matmul_f8 permute mul mul sum backward */
static void p249(rg_ctx *c) {
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

/* 250: loop; masked_select masked_select */
static void p250(rg_ctx *c) {
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

/* 251: forward; one_hot sum add */
static void p251(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){0, 1}, RG_SHAPE(2, 1));
    {
        rg_tensor v1 = rg_one_hot(v0, 5);
        rg_tensor v2 = rg_sum(v1, .axes = RG_SHAPE(0, 1, 2), .keep = true);
        rg_tensor v3 = rg_add(v2, v2);
        see(v3, RG_I64, RG_SHAPE(1, 1, 1), (double[]){4}, NULL);
        seen(c);
    }
}

/* 252: grad2; layernorm permute grad grad */
static void p252(rg_ctx *c) {
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

/* 253: backward; mul sum nonzero sum backward */
static void p253(rg_ctx *c) {
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
            (double[]){0.22, 0.28, 0.43, 0.34, 0.2, 0.42, 0.19, 0.25, 0.24, 0.18, 0.2, 0.14, 0.26, 0.29, 0.36, 0.25,
            0.41, 0.25, 0.22, 0.22, 0.52});
        seen(c);
    }
}

/* 254: forward; instancenorm */
static void p254(rg_ctx *c) {
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

/* 255: grad; sum sum groupnorm groupnorm grad */
static void p255(rg_ctx *c) {
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
            -0.744910981412, -0.686546908354, -0.0478539359999}, (double[]){1.1, 0.55, 0.2, 0.23, 0.31, 0.25, 0.5,
            0.25, 0.25, 0.27, 0.24, 0.26});
        see(v11, RG_F16, RG_SHAPE(1), (double[]){0}, (double[]){3.1e-07});
        seen(c);
    }
}

/* 256: grad2; mul batchnorm mul add add grad grad */
static void p256(rg_ctx *c) {
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

/* 257: forward; sum conv1d add add */
static void p257(rg_ctx *c) {
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

/* 258: forward; rmsnorm realize sum */
static void p258(rg_ctx *c) {
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

/* 259: loop; add realize_all */
static void p259(rg_ctx *c) {
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){0.7765623, -0.63870114, -2.2184834}, RG_SHAPE(3));
        rg_tensor v1 = rg_add(2.0, v0);
        rg_realize_all(RG_TENSORS(v0, v0));
        see(v1, RG_F32, RG_SHAPE(3), (double[]){2.7765622735, 1.36129885912, -0.218483448029}, (double[]){3.2e-06,
            2.3e-06, 2.3e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.6788788, 0.34879854, 1.9209907}, RG_SHAPE(3));
        rg_tensor v1 = rg_add(2.0, v0);
        rg_realize_all(RG_TENSORS(v0, v0));
        see(v1, RG_F32, RG_SHAPE(3), (double[]){-0.67887878418, 2.34879854321, 3.92099070549}, (double[]){3.3e-06,
            4.3e-06, 4.8e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.0212448, -2.172991, -0.8434055}, RG_SHAPE(3));
        rg_tensor v1 = rg_add(2.0, v0);
        rg_realize_all(RG_TENSORS(v0, v0));
        see(v1, RG_F32, RG_SHAPE(3), (double[]){3.02124476433, -0.172991037369, 1.15659451485}, (double[]){5.3e-06,
            2.6e-06, 2.9e-06});
        seen(c);
    }
}

/* 260: assign; conv2d */
static void p260(rg_ctx *c) {
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

/* 261: loop; permute */
static void p261(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.5145352}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        see(v1, RG_F32, RG_SHAPE(1), (double[]){-0.514535188675}, (double[]){2.6e-07});
        seen(c);
    }
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1));
        see(v1, RG_F32, RG_SHAPE(1), (double[]){-0.514535188675}, (double[]){2.6e-07});
        seen(c);
    }
}

/* 262: forward; conv_transpose1d sum add */
static void p262(rg_ctx *c) {
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

/* 263: grad; permute conv_transpose2d add sum sum grad */
static void p263(rg_ctx *c) {
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

/* 264: forward; permute mul mul mul conv3d */
static void p264(rg_ctx *c) {
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

/* 265: grad; normalize sum permute grad */
static void p265(rg_ctx *c) {
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

/* 266: jit; permute */
static rg_status p266_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = in[2];
    rg_tensor v3 = rg_permute(v1, RG_SHAPE(-2, 1));
    out[0] = v3;
    return 0;
}
static void p266(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p266_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.5723093, -2.9941955, -1.093685, -1.4129856}, RG_SHAPE(4, 1));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){-0.62078655, -0.5323326}, RG_SHAPE(1, 2));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-0.98946995}, RG_SHAPE(1, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 2), (double[]){-0.620786547661, -0.532332599163}, (double[]){3.1e-07,
            2.9e-07});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){1.1806087, -1.43457, 2.495102, 2.020131}, RG_SHAPE(4, 1));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){2.292845, 0.79225355}, RG_SHAPE(1, 2));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){2.4798717}, RG_SHAPE(1, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 2), (double[]){2.29284501076, 0.792253553867}, (double[]){1.1e-06, 7.7e-07});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.5988638, 2.7960653, 0.9112687, -1.4316434}, RG_SHAPE(4, 1));
        rg_tensor v1 = rg_from(c, RG_F32, (float[]){1.6519226, 0.6378961}, RG_SHAPE(1, 2));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){2.5}, RG_SHAPE(1, 1));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F32, RG_SHAPE(1, 2), (double[]){1.65192258358, 0.637896120548}, (double[]){8.3e-07, 5.7e-07});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 267: grad2; conv_transpose3d sum grad grad */
static void p267(rg_ctx *c) {
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

/* 268: backward; max_pool2d mul sum backward */
static void p268(rg_ctx *c) {
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

/* 269: forward; avg_pool1d max_pool1d */
static void p269(rg_ctx *c) {
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

/* 270: grad; permute sum avg_pool2d sum grad */
static void p270(rg_ctx *c) {
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

/* 271: backward; permute max_pool2d_index sum backward */
static void p271(rg_ctx *c) {
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

/* 272: loop; mul mul */
static void p272(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_BF16, (uint16_t[]){0x413c}, RG_SHAPE());
    {
        rg_tensor v2 = rg_from(c, RG_U16, (uint16_t[]){9}, RG_SHAPE());
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_mul(v2, v0);
        see(v1, RG_BF16, RG_SHAPE(), (double[]){138.0625}, (double[]){14});
        see(v3, RG_BF16, RG_SHAPE(), (double[]){105.75}, (double[]){6.5});
        seen(c);
    }
    {
        rg_tensor v2 = rg_from(c, RG_U16, (uint16_t[]){0}, RG_SHAPE());
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v3 = rg_mul(v2, v0);
        see(v1, RG_BF16, RG_SHAPE(), (double[]){138.0625}, (double[]){15});
        see(v3, RG_BF16, RG_SHAPE(), (double[]){0}, (double[]){1e-36});
        seen(c);
    }
}

/* 273: loop; add */
static void p273(rg_ctx *c) {
    {
        rg_tensor v0 = rg_from(c, RG_U8, (uint8_t[]){0, 8, 8, 3}, RG_SHAPE(2, 2));
        rg_tensor v1 = rg_add(v0, v0);
        see(v1, RG_U8, RG_SHAPE(2, 2), (double[]){0, 16, 16, 6}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U8, (uint8_t[]){2, 9, 9, 4}, RG_SHAPE(2, 2));
        rg_tensor v1 = rg_add(v0, v0);
        see(v1, RG_U8, RG_SHAPE(2, 2), (double[]){4, 18, 18, 8}, NULL);
        seen(c);
    }
}

/* 274: forward; avg_pool3d permute add permute sum */
static void p274(rg_ctx *c) {
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

/* 275: assign; sum adaptive_avg_pool2d */
static void p275(rg_ctx *c) {
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

/* 276: backward; add add max_unpool2d sum backward */
static void p276(rg_ctx *c) {
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

/* 277: forward; add interpolate mul realize permute */
static void p277(rg_ctx *c) {
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

/* 278: loop; add */
static void p278(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){-0.91049695, -2.9278412, -0.78610826, 2.6086087, -1.7544092,
        1.7184436, -2.8505204}, RG_SHAPE(7, 1, 1));
    {
        rg_tensor v1 = rg_from(c, RG_F64, (double[]){-1.6511245389785079}, RG_SHAPE(1, 1));
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_F64, RG_SHAPE(7, 1, 1), (double[]){-2.561621489128044, -4.5789657255019449, -2.4372327943648604,
            0.95748418370825972, -3.4055337329711226, 0.067319093147346631, -4.5016449113692545}, (double[]){2.8e-06,
            3.3e-06, 2.8e-06, 2.3e-06, 2.8e-06, 1.3e-06, 6.3e-06});
        seen(c);
    }
    {
        rg_tensor v1 = rg_from(c, RG_F64, (double[]){-1.75}, RG_SHAPE(1, 1));
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_F64, RG_SHAPE(7, 1, 1), (double[]){-2.6604969501495361, -4.6778411865234375, -2.5361082553863525,
            0.85860872268676758, -3.5044091939926147, -0.031556367874145508, -4.6005203723907471}, (double[]){4.2e-06,
            5.2e-06, 2.2e-06, 2.7e-06, 4.7e-06, 1.7e-06, 4.2e-06});
        seen(c);
    }
    {
        rg_tensor v1 = rg_from(c, RG_F64, (double[]){-0.38715084054076065}, RG_SHAPE(1, 1));
        rg_tensor v2 = rg_add(v0, v1);
        see(v2, RG_F64, RG_SHAPE(7, 1, 1), (double[]){-1.2976477906902968, -3.3149920270641982, -1.1732590959271132,
            2.2214578821460069, -2.1415600345333754, 1.3312927915850938, -3.2376712129315077}, (double[]){1.6e-06,
            3.5e-06, 1.5e-06, 2.5e-06, 2e-06, 3.1e-06, 2.5e-06});
        seen(c);
    }
}

/* 279: grad; cross_entropy add permute mul sum grad */
static void p279(rg_ctx *c) {
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

/* 280: grad2; nll_loss grad grad */
static void p280(rg_ctx *c) {
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

/* 281: backward; mul attention sum backward */
static void p281(rg_ctx *c) {
    rg_tensor v0 = rg_param(rg_from(c, RG_F32, (float[]){8.173541, 27.280039, 6.125065, -13.953386, -6.802902,
        -6.195711, 6.648945, 4.8232203, 23.477537, -8.310821, -0.90672255, 11.770348, 15.110869, -19.244572,
        -29.29177, 4.182242, 8.859915, -0.8595838, -10.706102, 6.7048526, 12.597062, -1.074315, -19.170143, 20.723066,
        20.299501}, RG_SHAPE(5, 1, 5, 1)));
    rg_tensor v2 = rg_param(rg_from(c, RG_F32, (float[]){-3.4585948, 2.21961, -3.9984643, 2.6523247, 1.0359491,
        0.7904155, -0.13582541, -2.397617}, RG_SHAPE(1, 2, 4, 1)));
    rg_tensor v3 = rg_param(rg_from(c, RG_F32, (float[]){3.1097126}, RG_SHAPE(1, 1, 1, 1)));
    {
        rg_tensor v1 = rg_mul(v0, v0);
        rg_tensor v4 = rg_attention(v2, v3, v3, .scale = 0.5);
        rg_tensor v5 = rg_sum(v4);
        rg_zero_grad(c);
        rg_backward(v5);
        rg_tensor v6 = rg_param_grad(v2);
        rg_tensor v7 = rg_param_grad(v3);
        see(v6, RG_F32, RG_SHAPE(1, 2, 4, 1), (double[]){0, 0, 0, 0, 0, 0, 0, 0}, (double[]){2.5e-07, 2.5e-07,
            2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07, 2.5e-07});
        see(v7, RG_F32, RG_SHAPE(1, 1, 1, 1), (double[]){8}, (double[]){1e-05});
        seen(c);
    }
}

/* 282: grad; sum bce sum grad */
static void p282(rg_ctx *c) {
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

/* 283: jit; permute */
static rg_status p283_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = rg_permute(v1, RG_SHAPE(1, 2, 0, 3));
    out[0] = v2;
    return 0;
}
static void p283(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p283_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){7}, RG_SHAPE());
        rg_tensor v1 = rg_from(c, RG_U32, (uint32_t[]){0}, RG_SHAPE(0, 1, 4, 6));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_U32, RG_SHAPE(1, 4, 0, 6), (double[]){0}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){3}, RG_SHAPE());
        rg_tensor v1 = rg_from(c, RG_U32, (uint32_t[]){0}, RG_SHAPE(0, 1, 4, 6));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_U32, RG_SHAPE(1, 4, 0, 6), (double[]){0}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){9}, RG_SHAPE());
        rg_tensor v1 = rg_from(c, RG_U32, (uint32_t[]){0}, RG_SHAPE(0, 1, 4, 6));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_U32, RG_SHAPE(1, 4, 0, 6), (double[]){0}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_U64, (uint64_t[]){3}, RG_SHAPE());
        rg_tensor v1 = rg_from(c, RG_U32, (uint32_t[]){0}, RG_SHAPE(0, 1, 4, 6));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1), out)) return;
        see(out[0], RG_U32, RG_SHAPE(1, 4, 0, 6), (double[]){0}, NULL);
        seen(c);
    }
    rg_jit_free(jit);
}

/* 284: loop; permute bce_with_logits */
static void p284(rg_ctx *c) {
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

/* 285: assign; add mse_loss add sum realize */
static void p285(rg_ctx *c) {
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

/* 286: grad2; mul l1_loss grad grad */
static void p286(rg_ctx *c) {
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

/* 287: forward; huber_loss */
static void p287(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.0}, RG_SHAPE(1));
    {
        rg_tensor v1 = rg_huber_loss(v0, v0, .reduction = RG_MEAN, .delta = 0.5);
        see(v1, RG_F32, RG_SHAPE(), (double[]){0}, (double[]){7.2e-13});
        seen(c);
    }
}

/* 288: forward; permute smooth_l1_loss */
static void p288(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xc100, 0xbf00, 0x3400, 0xbe00, 0x3400, 0xb400}, RG_SHAPE(6));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0));
        rg_tensor v2 = rg_smooth_l1_loss(v1, v1, .reduction = RG_SUM);
        see(v2, RG_F16, RG_SHAPE(), (double[]){0}, (double[]){6.3e-08});
        seen(c);
    }
}

/* 289: jit; kl_div assign_slice */
static rg_tensor p289_v1, p289_v2, p289_v4, p289_v5;
static rg_status p289_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p289_v1;
    rg_tensor v2 = p289_v2;
    rg_tensor v4 = p289_v4;
    rg_tensor v5 = p289_v5;
    rg_tensor v0 = in[0];
    rg_tensor v3 = rg_kl_div(v1, v2, .reduction = RG_MEAN);
    rg_assign_slice(v2, v5, RG_SLICES((rg_range){.start = 1, .stop = 1, .step = 1}, (rg_range){.start = 1, .stop =
        RG_END, .step = 1}, (rg_range){.start = 0, .stop = 3, .step = 0, .at = v4}));
    rg_tensor v6 = v2;
    out[0] = v3;
    return 0;
}
static void p289(rg_ctx *c) {
    p289_v1 = rg_from(c, RG_F32, (float[]){-7.1455383, -4.1519074, -6.6816077}, RG_SHAPE(1, 1, 3));
    p289_v2 = rg_from(c, RG_F32, (float[]){0.43342966, 0.07281576, 0.92729896}, RG_SHAPE(1, 1, 3));
    p289_v4 = rg_index(c, 0, 0, 0);
    p289_v5 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(1, 0, 3));
    rg_jit *jit = rg_jit_new(c, p289_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){2, 12, 0, 4, -8, 10, 0}, RG_SHAPE(7));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.99071528596}, (double[]){6.1e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){-4, -4, -5, -7, -6, 7, 10}, RG_SHAPE(7));
        rg_set_scalar(p289_v4, 0.0);
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.99071528596}, (double[]){4.6e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I64, (int64_t[]){7, -3, 5, 0, -3, 1, 10}, RG_SHAPE(7));
        rg_set_scalar(p289_v4, 0.0);
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(), (double[]){2.99071528596}, (double[]){9.1e-06});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 290: forward; rand mul */
static void p290(rg_ctx *c) {
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

/* 291: jit; add assign permute */
static rg_tensor p291_v1, p291_v2, p291_v5;
static rg_status p291_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v1 = p291_v1;
    rg_tensor v2 = p291_v2;
    rg_tensor v5 = p291_v5;
    rg_tensor v0 = in[0];
    rg_tensor v3 = rg_add(v1, v2);
    rg_assign(v2, 3);
    rg_tensor v4 = v2;
    rg_tensor v6 = rg_permute(v5, RG_SHAPE(0));
    out[0] = v3;
    out[1] = v6;
    return 0;
}
static void p291(rg_ctx *c) {
    p291_v1 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0, 1, 1));
    p291_v2 = rg_from(c, RG_F32, (float[]){-2.440902}, RG_SHAPE());
    p291_v5 = rg_from(c, RG_F64, (double[]){0.5, -1.5, 0.5, 0.5, -2.25}, RG_SHAPE(5));
    rg_jit *jit = rg_jit_new(c, p291_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){-0.9336794030915714, 2.249467289584545, -0.02025074043367514,
            0.22425543212846266}, RG_SHAPE(4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(0, 1, 1), (double[]){0}, (double[]){0});
        see(out[1], RG_F64, RG_SHAPE(5), (double[]){0.5, -1.5, 0.5, 0.5, -2.25}, (double[]){1.3e-15, 1.7e-15, 1.3e-15,
            1.3e-15, 2.1e-15});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){-2.8155975143370817, 2.3576937411382506, 1.1805041749869742,
            2.1005367350493014}, RG_SHAPE(4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(0, 1, 1), (double[]){0}, (double[]){0});
        see(out[1], RG_F64, RG_SHAPE(5), (double[]){0.5, -1.5, 0.5, 0.5, -2.25}, (double[]){1.3e-15, 1.7e-15, 1.3e-15,
            1.3e-15, 2.1e-15});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){1.1641421507360796, -1.5515776521347346, -1.0367239983176895,
            0.5164448142840601}, RG_SHAPE(4));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F32, RG_SHAPE(0, 1, 1), (double[]){0}, (double[]){0});
        see(out[1], RG_F64, RG_SHAPE(5), (double[]){0.5, -1.5, 0.5, 0.5, -2.25}, (double[]){1.3e-15, 1.7e-15, 1.3e-15,
            1.3e-15, 2.1e-15});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 292: forward; randn permute */
static void p292(rg_ctx *c) {
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

/* 293: loop; sum */
static void p293(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F64, (double[]){-1.0, -1.75}, RG_SHAPE(2));
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
        see(v1, RG_F64, RG_SHAPE(), (double[]){-2.75}, (double[]){3.6e-14});
        seen(c);
    }
    {
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0));
        see(v1, RG_F64, RG_SHAPE(), (double[]){-2.75}, (double[]){2.5e-14});
        seen(c);
    }
}

/* 294: jit; permute permute permute */
static rg_tensor p294_v2;
static rg_status p294_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p294_v2;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1, 2));
    rg_tensor v3 = rg_permute(v2, RG_SHAPE(0, 1));
    rg_tensor v4 = rg_permute(v1, RG_SHAPE(1, 2, 0));
    out[0] = v3;
    out[1] = v4;
    return 0;
}
static void p294(rg_ctx *c) {
    p294_v2 = rg_from(c, RG_F64, (double[]){0.8915792029618834}, RG_SHAPE(1, 1));
    rg_jit *jit = rg_jit_new(c, p294_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x41f9, 0x3d00, 0x41b7, 0xb7c6, 0xbcf0}, RG_SHAPE(5, 1, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1), (double[]){0.89157920296188342}, (double[]){1.2e-15});
        see(out[1], RG_F16, RG_SHAPE(1, 1, 5), (double[]){2.986328125, 1.25, 2.857421875, -0.48583984375, -1.234375},
            (double[]){0.0061, 0.0026, 0.0059, 0.001, 0.0025});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0x3a2f, 0x4116, 0xc119, 0x40f1, 0x418e}, RG_SHAPE(5, 1, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1), (double[]){0.89157920296188342}, (double[]){1.2e-15});
        see(out[1], RG_F16, RG_SHAPE(1, 1, 5), (double[]){0.77294921875, 2.54296875, -2.548828125, 2.470703125,
            2.77734375}, (double[]){0.0016, 0.0052, 0.0052, 0.0051, 0.0057});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xbc5f, 0x3a98, 0x3c6e, 0x3eb7, 0xc1be}, RG_SHAPE(5, 1, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1), (double[]){0.89157920296188342}, (double[]){1.2e-15});
        see(out[1], RG_F16, RG_SHAPE(1, 1, 5), (double[]){-1.0927734375, 0.82421875, 1.107421875, 1.6787109375,
            -2.87109375}, (double[]){0.0022, 0.0017, 0.0023, 0.0034, 0.0059});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0xbc28, 0xc05c, 0xbf36, 0x411b, 0xc143}, RG_SHAPE(5, 1, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F64, RG_SHAPE(1, 1), (double[]){0.89157920296188342}, (double[]){1.2e-15});
        see(out[1], RG_F16, RG_SHAPE(1, 1, 5), (double[]){-1.0390625, -2.1796875, -1.802734375, 2.552734375,
            -2.630859375}, (double[]){0.0021, 0.0045, 0.0037, 0.0052, 0.0054});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 295: forward; uniform */
static void p295(rg_ctx *c) {
    {
        rg_seed(c, 454351442381);
        rg_tensor v0 = rg_uniform(c, RG_F64, -1.5, 2.0, RG_SHAPE());
        see(v0, RG_F64, RG_SHAPE(), (double[]){1.9952939458399879}, (double[]){2.3e-14});
        seen(c);
    }
}

/* 296: jit; add */
static rg_tensor p296_v3;
static rg_status p296_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v3 = p296_v3;
    rg_tensor v0 = in[0];
    rg_tensor v1 = in[1];
    rg_tensor v2 = in[2];
    rg_tensor v4 = rg_add(v3, 2);
    out[0] = v4;
    return 0;
}
static void p296(rg_ctx *c) {
    p296_v3 = rg_from(c, RG_F16, (uint16_t[]){0xbf15, 0x3e76}, RG_SHAPE(2));
    rg_jit *jit = rg_jit_new(c, p296_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 2));
        rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0xc02e, 0x3fbb, 0x3f8a, 0x3f15}, RG_SHAPE(1, 4));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.25, -2.25, -1.0, 0.0, -0.25}, RG_SHAPE(1, 5));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F16, RG_SHAPE(2), (double[]){0.2294921875, 3.615234375}, (double[]){0.0063, 0.026});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 2));
        rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0x3efc, 0xbd50, 0x4000, 0xbff7}, RG_SHAPE(1, 4));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-0.61162406, -1.6960136, -0.011193019, -2.4028478, -1.8364704},
            RG_SHAPE(1, 5));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F16, RG_SHAPE(2), (double[]){0.2294921875, 3.615234375}, (double[]){0.0085, 0.043});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F64, (double[]){0}, RG_SHAPE(0, 2));
        rg_tensor v1 = rg_from(c, RG_BF16, (uint16_t[]){0xbf00, 0xc010, 0xbfa0, 0x4010}, RG_SHAPE(1, 4));
        rg_tensor v2 = rg_from(c, RG_F32, (float[]){-2.1703458, -2.8379407, 1.7017446, 2.03772, 0.8575807},
            RG_SHAPE(1, 5));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0, v1, v2), out)) return;
        see(out[0], RG_F16, RG_SHAPE(2), (double[]){0.2294921875, 3.615234375}, (double[]){0.0088, 0.038});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 297: assign; sum sum normal assign_slice permute */
static void p297(rg_ctx *c) {
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

/* 298: jit; randperm sum */
static rg_status p298_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_randperm(c, RG_U8, 6);
    rg_tensor v2 = rg_sum(v1);
    out[0] = v2;
    return 0;
}
static void p298(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p298_body, NULL, 1);
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

/* 299: loop; permute */
static void p299(rg_ctx *c) {
    rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(0, 2));
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        see(v1, RG_F16, RG_SHAPE(0, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        see(v1, RG_F16, RG_SHAPE(0, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v1 = rg_permute(v0, RG_SHAPE(0, 1));
        see(v1, RG_F16, RG_SHAPE(0, 2), (double[]){0}, (double[]){0});
        seen(c);
    }
}

/* 300: forward; permute rand_like */
static void p300(rg_ctx *c) {
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

/* 301: jit; permute */
static rg_status p301_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_permute(v0, RG_SHAPE(-1, 0));
    out[0] = v1;
    return 0;
}
static void p301(rg_ctx *c) {
    rg_jit *jit = rg_jit_new(c, p301_body, NULL, 1);
    {
        rg_tensor v0 = rg_from(c, RG_I32, (int32_t[]){0}, RG_SHAPE(2, 0));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I32, RG_SHAPE(0, 2), (double[]){0}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I32, (int32_t[]){0}, RG_SHAPE(2, 0));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I32, RG_SHAPE(0, 2), (double[]){0}, NULL);
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_I32, (int32_t[]){0}, RG_SHAPE(2, 0));
        rg_tensor out[1];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_I32, RG_SHAPE(0, 2), (double[]){0}, NULL);
        seen(c);
    }
    rg_jit_free(jit);
}

/* 302: loop; sum add */
static void p302(rg_ctx *c) {
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-2.8784761, 0.5255154}, RG_SHAPE(2, 1));
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, -1));
        rg_tensor v2 = rg_add(v0, v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){-2.35296076536}, (double[]){5.3e-06});
        see(v2, RG_F32, RG_SHAPE(2, 1), (double[]){-5.75695228577, 1.05103075504}, (double[]){1.1e-05, 4.5e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){-1.7891905, -1.9405693}, RG_SHAPE(2, 1));
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, -1));
        rg_tensor v2 = rg_add(v0, v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){-3.72975981236}, (double[]){5.6e-06});
        see(v2, RG_F32, RG_SHAPE(2, 1), (double[]){-3.57838106155, -3.88113856316}, (double[]){5.6e-06, 8.7e-06});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F32, (float[]){2.9826446, -1.5278032}, RG_SHAPE(2, 1));
        rg_tensor v1 = rg_sum(v0, .axes = RG_SHAPE(0, -1));
        rg_tensor v2 = rg_add(v0, v0);
        see(v1, RG_F32, RG_SHAPE(), (double[]){1.45484137535}, (double[]){3e-06});
        see(v2, RG_F32, RG_SHAPE(2, 1), (double[]){5.96528911591, -3.0556063652}, (double[]){6.2e-06, 6.5e-06});
        seen(c);
    }
}

/* 303: forward; randn_like realize mul add */
static void p303(rg_ctx *c) {
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

/* 304: loop; max_pool3d realize_all mul sum glorot_uniform */
static void p304(rg_ctx *c) {
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

/* 305: jit; sum permute */
static rg_tensor p305_v2;
static rg_status p305_body(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in; (void)user;
    rg_ctx *c = here; (void)c;
    rg_tensor v2 = p305_v2;
    rg_tensor v0 = in[0];
    rg_tensor v1 = rg_sum(v0);
    rg_tensor v3 = rg_permute(v2, RG_SHAPE(1, 0, 3, 2));
    out[0] = v1;
    out[1] = v3;
    return 0;
}
static void p305(rg_ctx *c) {
    p305_v2 = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(4, 3, 3, 0));
    rg_jit *jit = rg_jit_new(c, p305_body, NULL, 2);
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(1, 0, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(), (double[]){0}, (double[]){6.3e-08});
        see(out[1], RG_F32, RG_SHAPE(3, 4, 0, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(1, 0, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(), (double[]){0}, (double[]){6.3e-08});
        see(out[1], RG_F32, RG_SHAPE(3, 4, 0, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
    {
        rg_tensor v0 = rg_from(c, RG_F16, (uint16_t[]){0}, RG_SHAPE(1, 0, 1));
        rg_tensor out[2];
        if (rg_jit_call(jit, RG_TENSORS(v0), out)) return;
        see(out[0], RG_F16, RG_SHAPE(), (double[]){0}, (double[]){6.3e-08});
        see(out[1], RG_F32, RG_SHAPE(3, 4, 0, 3), (double[]){0}, (double[]){0});
        seen(c);
    }
    rg_jit_free(jit);
}

/* 306: forward; permute permute add randint */
static void p306(rg_ctx *c) {
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

/* 307: assign; add sum dropout sum */
static void p307(rg_ctx *c) {
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

/* 308: forward; permute bernoulli sum */
static void p308(rg_ctx *c) {
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

/* 309: assign; permute add kaiming_normal add mul */
static void p309(rg_ctx *c) {
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

/* 310: grad2; add add no_grad grad grad */
static void p310(rg_ctx *c) {
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

/* 311: forward; kaiming_uniform permute */
static void p311(rg_ctx *c) {
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

/* 312: forward; permute add nn_linear */
static void p312(rg_ctx *c) {
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

/* 313: forward; nn_conv1d multinomial permute mul */
static void p313(rg_ctx *c) {
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

/* 314: forward; nn_conv2d */
static void p314(rg_ctx *c) {
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

/* 315: forward; nn_batchnorm sum sum sum */
static void p315(rg_ctx *c) {
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

/* 316: forward; add sum add add nn_layernorm */
static void p316(rg_ctx *c) {
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

/* 317: forward; add add nn_groupnorm */
static void p317(rg_ctx *c) {
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

/* 318: forward; nn_instancenorm sum mul sum permute */
static void p318(rg_ctx *c) {
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

/* 319: forward; realize permute nn_rmsnorm */
static void p319(rg_ctx *c) {
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

/* 320: forward; nn_embedding mul sum */
static void p320(rg_ctx *c) {
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

/* 321: assign; mul assign sum nn_attention */
static void p321(rg_ctx *c) {
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

/* 322: forward; add permute permute nn_max_pool2d */
static void p322(rg_ctx *c) {
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

/* 323: forward; mul permute nn_flatten mul */
static void p323(rg_ctx *c) {
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

/* 324: forward; mul nn_dropout permute add permute */
static void p324(rg_ctx *c) {
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

/* 325: forward; sgd add */
static void p325(rg_ctx *c) {
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

/* 326: forward; adam mul sum add mul */
static void p326(rg_ctx *c) {
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

/* 327: forward; sum mul adamw */
static void p327(rg_ctx *c) {
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

/* 328: assign; mul realize nn_conv_transpose2d */
static void p328(rg_ctx *c) {
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

/* 329: assign; nn_conv3d mul assign_slice sum assign_slice */
static void p329(rg_ctx *c) {
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
        p201, p202, p203, p204, p205, p206, p207, p208, p209, p210, p211, p212, p213, p214, p215, p216, p217, p218,
        p219, p220, p221, p222, p223, p224, p225, p226, p227, p228, p229, p230, p231, p232, p233, p234, p235, p236,
        p237, p238, p239, p240, p241, p242, p243, p244, p245, p246, p247, p248, p249, p250, p251, p252, p253, p254,
        p255, p256, p257, p258, p259, p260, p261, p262, p263, p264, p265, p266, p267, p268, p269, p270, p271, p272,
        p273, p274, p275, p276, p277, p278, p279, p280, p281, p282, p283, p284, p285, p286, p287, p288, p289, p290,
        p291, p292, p293, p294, p295, p296, p297, p298, p299, p300, p301, p302, p303, p304, p305, p306, p307, p308,
        p309, p310, p311, p312, p313, p314, p315, p316, p317, p318, p319, p320, p321, p322, p323, p324, p325, p326,
        p327, p328, p329,
};
/* clang-format on */

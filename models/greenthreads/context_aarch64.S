/* The switch for AArch64, AAPCS64: x19 to x30, sp, and the low halves of v8 to v15, which
 * a called function must preserve. FPCR is global to the kernel thread under that ABI and
 * is not switched: no user thread may change it. It must never know a scheduler. */

/* A left context, from its saved stack pointer up:
 *  0 x19 to x28   80 x29, x30 (where it continues)   96 d8 to d15 */
#define FRAME 160

        .text

        .globl  context_switch
        .hidden context_switch
        .type   context_switch, %function
        .p2align 4
context_switch:
        .cfi_startproc
        hint    #34                     /* bti c */
        sub     sp, sp, #FRAME
        .cfi_def_cfa_offset FRAME
        stp     x19, x20, [sp, #0]
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        .cfi_rel_offset x29, 80
        .cfi_rel_offset x30, 88
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]

        /* Both frames have this one shape, so the unwind rows hold on either side. */
        mov     x9, sp
        str     x9, [x0]
        ldr     x9, [x1]
        mov     sp, x9

        ldp     x19, x20, [sp, #0]
        ldp     x21, x22, [sp, #16]
        ldp     x23, x24, [sp, #32]
        ldp     x25, x26, [sp, #48]
        ldp     x27, x28, [sp, #64]
        ldp     x29, x30, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        add     sp, sp, #FRAME
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   context_switch, . - context_switch

/* context_make(x0 context, x1 low, x2 size, x3 run, x4 argument): a frame as the switch
 * leaves it, that continues in the trampoline. */
        .globl  context_make
        .hidden context_make
        .type   context_make, %function
        .p2align 4
context_make:
        .cfi_startproc
        hint    #34
        add     x9, x1, x2
        and     x9, x9, #-16
        sub     x9, x9, #FRAME
        stp     x3, x4, [x9, #0]
        stp     xzr, xzr, [x9, #16]
        stp     xzr, xzr, [x9, #32]
        stp     xzr, xzr, [x9, #48]
        stp     xzr, xzr, [x9, #64]
        adr     x10, context_trampoline
        stp     xzr, x10, [x9, #80]
        stp     xzr, xzr, [x9, #96]
        stp     xzr, xzr, [x9, #112]
        stp     xzr, xzr, [x9, #128]
        stp     xzr, xzr, [x9, #144]
        str     x9, [x0]
        ret
        .cfi_endproc
        .size   context_make, . - context_make

/* The outermost frame of a user thread: an undefined return address ends every back trace
 * here. */
        .type   context_trampoline, %function
        .p2align 4
context_trampoline:
        .cfi_startproc
        .cfi_undefined x30
        mov     x0, x20
        blr     x19
        brk     #1
        .cfi_endproc
        .size   context_trampoline, . - context_trampoline

        .section .note.GNU-stack, "", %progbits

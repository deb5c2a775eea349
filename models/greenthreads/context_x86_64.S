/* The switch for x86-64, System V ABI: rbx, rbp, r12 to r15, rsp, and the control bits of
 * MXCSR and of the x87 unit, which the ABI makes callee-saved. It must never know a
 * scheduler.
 * The object carries no CET note on purpose: a switched stack needs a shadow stack of its
 * own, which is not made here, so the linker must not mark the program as capable of it. */

/* A left context, from its saved stack pointer up:
 *  0 MXCSR, x87 control word   8 r15  16 r14  24 r13  32 r12  40 rbx  48 rbp  56 return */

        .text

        .globl  context_switch
        .hidden context_switch
        .type   context_switch, @function
        .p2align 4
context_switch:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r15, 0
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        stmxcsr (%rsp)
        fnstcw  4(%rsp)

        /* Both frames have this one shape, so the unwind rows hold on either side. */
        movq    %rsp, (%rdi)
        movq    (%rsi), %rsp

        ldmxcsr (%rsp)
        fldcw   4(%rsp)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   context_switch, . - context_switch

/* context_make(rdi context, rsi low, rdx size, rcx run, r8 argument): a frame as the
 * switch leaves it, that returns into the trampoline with the stack pointer aligned. */
        .globl  context_make
        .hidden context_make
        .type   context_make, @function
        .p2align 4
context_make:
        .cfi_startproc
        endbr64
        leaq    (%rsi,%rdx), %rax
        andq    $-16, %rax
        subq    $64, %rax
        stmxcsr (%rax)
        fnstcw  4(%rax)
        xorl    %edx, %edx
        movq    %rdx, 8(%rax)
        movq    %rdx, 16(%rax)
        movq    %rcx, 24(%rax)
        movq    %r8, 32(%rax)
        movq    %rdx, 40(%rax)
        movq    %rdx, 48(%rax)
        leaq    context_trampoline(%rip), %rdx
        movq    %rdx, 56(%rax)
        movq    %rax, (%rdi)
        ret
        .cfi_endproc
        .size   context_make, . - context_make

/* The outermost frame of a user thread: an undefined return address ends every back trace
 * here. */
        .type   context_trampoline, @function
        .p2align 4
context_trampoline:
        .cfi_startproc
        .cfi_undefined %rip
        endbr64
        movq    %r12, %rdi
        callq   *%r13
        ud2
        .cfi_endproc
        .size   context_trampoline, . - context_trampoline

        .section .note.GNU-stack, "", @progbits

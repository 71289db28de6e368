import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { compileCacheFolder } from './tests/run/compile-cache.ts'
import { LongestFirst } from './tests/run/longest-first.ts'
import { agentFiles, gitFiles, mainFiles, nodeFiles } from './tests/run/projects.ts'
import { RetriedTests } from './tests/run/retried-tests.ts'

process.env.NODE_COMPILE_CACHE ??= compileCacheFolder(import.meta.dirname)

/**
 * Node loads the modules of tests itself, without types, as it loads the server. This takes a third less processor time
 * than Vite, and the compile cache applies. Tests therefore cannot mock modules, and cannot import JSX.
 */
const native = {
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: ['--conditions=source', '--disable-warning=ExperimentalWarning'],
}

/**
 * For tests of real programs on a busy machine, which may be retried once. `RetriedTests` reports each test that was
 * retried.
 */
const slow = { retry: 1, testTimeout: 120_000, hookTimeout: 60_000 }
const endToEnd = { ...slow, testTimeout: 600_000 }

export default defineConfig({
  test: {
    ...native,
    expect: { requireAssertions: true, poll: { timeout: 10_000 } },
    unstubEnvs: true,
    reporters: ['default', new RetriedTests()],
    sequence: { sequencer: LongestFirst },
    // A worker runs many files, because loading the modules again takes longer than most tests.
    isolate: false,
    // The tests wait for programs more than they compute, so there are four more workers than cores.
    maxWorkers: availableParallelism() + 4,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.{ts,tsx}',
            'apps/web/{src,scripts}/**/*.test.ts',
            'tests/*.test.ts',
            'tests/run/*.test.ts',
            'examples/*.test.ts',
            'bench/peers/*.test.ts',
          ],
          exclude: [...mainFiles, ...agentFiles, ...nodeFiles, ...gitFiles],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        // The start of a program takes longer the more memory the worker has, so each file has a worker of its own.
        test: { name: 'git', include: gitFiles, isolate: true, testTimeout: 120_000, hookTimeout: 60_000 },
      },
      { extends: true, test: { name: 'main', include: mainFiles, isolate: true, ...endToEnd } },
      { extends: true, test: { name: 'agents', include: agentFiles, exclude: mainFiles, ...slow } },
      {
        extends: true,
        test: { name: 'architecture', include: ['tests/architecture/*.test.ts'], testTimeout: 60_000 },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['tests/e2e/*.test.ts', ...nodeFiles],
          exclude: mainFiles,
          ...endToEnd,
        },
      },
    ],
  },
})

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tests/run/longest-first.ts'
import { agentFiles, mainFiles, nodeFiles } from './tests/run/projects.ts'
import { RetriedTests } from './tests/run/retried-tests.ts'

// Compiles the code of workers, and of the programs that tests start, once and not with every start.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/node-compile')

const conditions = ['source', 'node', 'import', 'module', 'default']
const resolve = { conditions }
const ssr = { resolve: { conditions, externalConditions: conditions } }

/**
 * For tests of real programs on a busy machine, which may be retried once. `RetriedTests` reports each test that was
 * retried.
 */
const slow = { retry: 1, testTimeout: 120_000, hookTimeout: 60_000 }
const endToEnd = { ...slow, testTimeout: 600_000 }

export default defineConfig({
  resolve,
  ssr,
  test: {
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
          ],
          exclude: [...mainFiles, ...agentFiles, ...nodeFiles],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      { extends: true, test: { name: 'main', include: mainFiles, ...endToEnd } },
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

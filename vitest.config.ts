import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const conditions = ['source', 'node', 'import', 'module', 'default']
const resolve = { conditions }
const ssr = { resolve: { conditions, externalConditions: conditions } }

const agents = 'packages/server/src/adapters/**/*.test.ts'
/** Real programs on a busy machine: what fails twice fails. */
const retry = 1

export default defineConfig({
  resolve,
  ssr,
  test: {
    expect: { requireAssertions: true, poll: { timeout: 10_000 } },
    // The tests wait for programs more than they compute: one worker a core, on the small machines too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.{ts,tsx}',
            'apps/web/src/**/*.test.ts',
            'tests/adapters.test.ts',
          ],
          exclude: [agents],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: { name: 'agents', include: [agents], retry, testTimeout: 120_000, hookTimeout: 60_000 },
      },
      {
        extends: true,
        test: { name: 'architecture', include: ['tests/architecture.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['tests/e2e/**/*.test.ts'],
          retry,
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})

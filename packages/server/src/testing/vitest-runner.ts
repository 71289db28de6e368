import type { TestRunner } from '@parley/adapter-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from './peers.ts'

/** The functions of Vitest for suites of the adapter kit. A case that does not reject counts as an assertion. */
export function vitestRunner(hookMs = 60_000): TestRunner {
  return {
    describe,
    it: (title, options, run) => it(title, options, async () => expect(await run()).toBeUndefined()),
    before: (run) => beforeAll(run, hookMs),
    after: (run) => afterAll(run, hookMs),
  }
}

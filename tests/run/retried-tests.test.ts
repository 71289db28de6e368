import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startVitest } from 'vitest/node'
import { TemporaryFolder } from '../../packages/server/src/testing/temporary-folder.ts'
import { RetriedTests } from './retried-tests.ts'

const flaky = `
import { expect, it } from 'vitest'
let attempts = 0
it('passes at once', () => expect(1).toBe(1))
it('passes when it is repeated', () => expect(++attempts, 'the number of attempts').toBe(2))
it('never passes', () => expect('always').toBe('never'))
`

/** The report of a run of these tests, each with one retry. */
async function reportOf(tests: string): Promise<string> {
  using folder = new TemporaryFolder()
  writeFileSync(join(folder.path, 'sample.test.ts'), tests)
  const printed: string[] = []
  const reporters = [new RetriedTests((text) => printed.push(text))]
  const options = { root: folder.path, config: false, retry: 1, watch: false, reporters } as const
  const { exitCode } = process
  const vitest = await startVitest('test', [], options)
  await vitest.close()
  process.exitCode = exitCode
  return printed.join('\n')
}

it('a retried test is counted and named with its first failure, even if the retry passes', async () => {
  const [count, ...lines] = (await reportOf(flaky)).split('\n')
  expect(count).toBe('2 tests were retried:')
  expect(lines).toEqual([
    '- sample.test.ts:5 > passes when it is repeated',
    expect.stringContaining('the number of attempts'),
    '- sample.test.ts:6 > never passes',
    expect.stringContaining("expected 'always' to be 'never'"),
  ])
})

it('a run without a retry says so', async () => {
  const stable = flaky.replace(/it\('passes when.*\n/, '').replace(/it\('never.*\n/, '')
  expect(await reportOf(stable)).toBe('0 tests were retried.')
})

import type { Reporter, TestCase, TestModule } from 'vitest/node'

/** Prints, at the end of a run, the number of retried tests, and the first failure of each. */
export class RetriedTests implements Reporter {
  readonly #print: (text: string) => void

  constructor(print: (text: string) => void = console.log) {
    this.#print = print
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    this.#print(describeRetries(tests.filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0)))
  }
}

function describeRetries(tests: readonly TestCase[]): string {
  const count = tests.length === 1 ? '1 test was retried' : `${tests.length} tests were retried`
  if (tests.length === 0) return `${count}.`
  const lines = tests.flatMap((test) => {
    const [first] = test.result().errors ?? []
    const message = first?.message.split('\n', 1)[0] ?? 'The first failure is not known.'
    const { moduleId, relativeModuleId } = test.module
    const line = first?.stacks?.find(({ file }) => file === moduleId)?.line
    const place = line === undefined ? relativeModuleId : `${relativeModuleId}:${line}`
    return [`- ${place} > ${test.fullName}`, `  ${message}`]
  })
  return [`${count}:`, ...lines].join('\n')
}

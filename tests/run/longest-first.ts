import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Test files with real programs and browsers take minutes, those of `unit` seconds: the slow ones start first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isUnit = ({ project }: TestSpecification) => project.name === 'unit'
    return [...sorted.filter((file) => !isUnit(file)), ...sorted.filter(isUnit)]
  }
}

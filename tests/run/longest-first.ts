import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take more than 100 seconds, longest first. Used in a fresh checkout, which has no measured
 * times.
 */
export const longFiles = [
  'opencode/opencode.test.ts',
  'acp/claude-acp.test.ts',
  'e2e/remove-adapter.test.ts',
  'e2e/package.test.ts',
  'e2e/chat-pages.test.ts',
  'opencode/faults.test.ts',
  'claude/claude.test.ts',
  'acp/fault-matrix.test.ts',
  'opencode/approvals.test.ts',
  'acp/faults.test.ts',
  'e2e/claude.test.ts',
  'e2e/kill.test.ts',
  'acp/acp.test.ts',
  'e2e/restart.test.ts',
  'workspace/hostile-repository.test.ts',
]

/** The projects in the order in which they start. `unit` is last, because its files take only seconds. */
const projects = ['main', 'agents', 'e2e', 'git', 'unit']

/**
 * Sorts test files: `longFiles` first, in their order, and then project by project, because a worker runs files of one
 * project only.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = longFiles.findIndex((name) => moduleId.endsWith(`/${name}`))
      if (place >= 0) return place
      return longFiles.length + projects.indexOf(project.name)
    }
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}

import { Component, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'

/** The page's error boundary: shows the error and offers a reload. No session data is lost. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <main className="h-dvh">
        <Problem
          title="The page crashed"
          text={`Your sessions are safe: they are stored on the server.\n\n${error.message}`}
        >
          <div className="pt-4">
            <Button look="primary" onClick={() => location.reload()}>
              Reload the page
            </Button>
          </div>
        </Problem>
      </main>
    )
  }
}

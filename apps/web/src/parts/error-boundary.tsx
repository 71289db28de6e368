import { Component, type ReactNode } from 'react'

type Props = {
  readonly children: ReactNode
  /** The element shown in place of children that threw. `retry` renders them again. */
  readonly fallback: (error: Error, retry: () => void) => ReactNode
}

export class ErrorBoundary extends Component<Props, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return this.props.fallback(error, () => this.setState({ error: undefined }))
  }
}
